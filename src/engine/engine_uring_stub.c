/* SPDX-License-Identifier: GPL-3.0-or-later */
/* In place of engine_uring.c where liburing was not there at build time. */
#include "engine/engine.h"

#include <errno.h>

#include "base/err.h"

static int stub_probe(struct err *e)
{
	err_set(e, ERR_UNSUPPORTED, 0, "built without liburing");
	return 1;
}

static int stub_open(const struct engine_params *params, struct engine **ret, struct err *e)
{
	(void)params;
	(void)ret;
	return err_set(e, ERR_UNSUPPORTED, 0, "engine uring: built without liburing");
}

static int stub_submit(struct engine *engine, const struct io *ios, uint32_t n)
{
	(void)engine;
	(void)ios;
	(void)n;
	return -ENOSYS;
}

static int stub_reap(struct engine *engine, struct io_done *done, uint32_t n_max, uint32_t n_min,
	uint64_t timeout_ns)
{
	(void)engine;
	(void)done;
	(void)n_max;
	(void)n_min;
	(void)timeout_ns;
	return -ENOSYS;
}

static int stub_sync(struct engine *engine)
{
	(void)engine;
	return -ENOSYS;
}

static void stub_describe(const struct engine *engine, struct buf *out)
{
	(void)engine;
	(void)out;
}

static void stub_close(struct engine *engine)
{
	(void)engine;
}

const struct engine_ops engine_uring = {
	.name = "uring",
	.summary = "io_uring: left out, built without liburing",
	.max_depth = 4096,
	.probe = stub_probe,
	.open = stub_open,
	.submit = stub_submit,
	.reap = stub_reap,
	.sync = stub_sync,
	.describe = stub_describe,
	.close = stub_close,
};
