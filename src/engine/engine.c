/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of engines, and one transfer through any of them. */
#include "engine/engine.h"

#include <errno.h>
#include <string.h>

const struct engine_ops *const engine_list[] = {
	&engine_uring,
	&engine_sync,
	&engine_mmap,
	&engine_null,
	&engine_fault,
	NULL,
};

const struct engine_ops *engine_find(const char *name)
{
	for (size_t i = 0; engine_list[i]; i++)
		if (strcmp(engine_list[i]->name, name) == 0)
			return engine_list[i];
	return NULL;
}

enum { TRIES_MAX = 1000 };

int64_t engine_io(struct engine *engine, const struct io *io)
{
	struct io rest = *io;
	uint32_t n_moved_bytes = 0;
	int last = 0;

	for (int tries = 0; tries < TRIES_MAX; tries++) {
		struct io_done done;
		int rc = engine->ops->submit(engine, &rest, 1);

		while (rc == 0)
			rc = engine->ops->reap(engine, &done, 1, 1, ENGINE_WAIT_FOREVER);
		if (rc < 0)
			return rc;
		last = done.result;
		if (done.result == -EINTR || done.result == -EAGAIN)
			continue;
		if (done.result < 0)
			return done.result;
		n_moved_bytes += (uint32_t)done.result;
		if (done.result == 0 || n_moved_bytes >= io->n_bytes || io->op >= IO_DATASYNC)
			return n_moved_bytes;
		rest.offset_bytes += (uint32_t)done.result;
		rest.buffer_offset_bytes += (uint32_t)done.result;
		rest.n_bytes -= (uint32_t)done.result;
	}
	return last < 0 ? last : -EIO;
}
