/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File operations of a session: sees to it that there are files where a phase needs them. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/session_private.h"

static int make_filework(struct session *s, struct err *e)
{
	const struct session_params *p = &s->params;
	struct filework_params params = {
		.dir_fd = s->workdir->fd,
		.n_files = p->n_files,
		.n_dirs = p->n_dirs,
		.min_bytes = p->file_bytes,
		.max_bytes = p->file_bytes,
		.seed = p->seed,
		.n_threads = 1,
		.clock = p->clock,
		.stop = p->stop,
	};

	return s->files ? 0 : filework_new(&params, &s->files, e);
}

/* Creates files untimed for a phase that needs them, or removes them for one that makes them. */
static int prepare_files(struct session *s, const struct phase_spec *spec, struct err *e)
{
	bool creates = spec->file_op == FILEWORK_CREATE;

	if (creates && s->files) {
		struct filework *old = take(s->files);
		int rc = filework_remove(old, e);

		filework_free(old);
		s->files_exist = false;
		if (rc != 0)
			return -1;
	}
	if (make_filework(s, e) != 0)
		return -1;
	if (!creates && !s->files_exist) {
		struct phase_result scratch cleanup(phase_release_p) = { 0 };

		if (filework_run(s->files, FILEWORK_CREATE, false, &scratch, e) != 0)
			return -1;
		if (scratch.status != PHASE_DONE)
			return err_set(
				e, ERR_IO, scratch.error.sys, "creating files for %s", spec->name);
		s->files_exist = true;
	}
	syncfs(s->workdir->fd); /* the write-back of one phase is not the next one's time */
	return 0;
}

int session_run_files(
	struct session *s, const struct phase_spec *spec, struct phase_result *out, struct err *e)
{
	struct evidence_start *start cleanup(free_p) = calloc(1, sizeof(*start));
	uint64_t before_ns = clock_now_ns(s->params.clock);

	if (!start)
		return err_set(e, ERR_NOMEM, 0, "no memory for a phase");
	if (prepare_files(s, spec, e) != 0)
		return -1;
	out->prepare_ns = clock_now_ns(s->params.clock) - before_ns;
	session_evidence_begin(s, start);

	int rc = filework_run(s->files, spec->file_op, spec->random_order, out, e);

	session_evidence_end(s, start, &out->evidence);
	out->evidence.asked_read_bytes = out->read_bytes;
	out->evidence.asked_write_bytes = out->written_bytes;
	s->files_exist = spec->file_op != FILEWORK_DELETE;
	return rc;
}
