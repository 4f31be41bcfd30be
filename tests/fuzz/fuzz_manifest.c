/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A manifest is refused with a reason, or is the very text that its content is written as. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "plan/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	struct manifest m = { 0 };
	struct err e = { 0 };
	char text[MANIFEST_BYTES_MAX];

	if (manifest_parse((const char *)bytes, n_bytes, &m, &e)) {
		assert(e.kind == ERR_FORMAT && e.msg[0] && m.pid == 0);
		return 0;
	}
	assert(manifest_format(&m, text) == n_bytes && memcmp(text, bytes, n_bytes) == 0);
	return 0;
}
