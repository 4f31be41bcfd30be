/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The head of a result: a few lines that say what was measured, on what and how, so that a table
 * that is passed on alone can still be judged.
 */
#include "report/report.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "report/cells.h"
#include "result/result.h"

/* Adds ", " between parts, and the part, escaped later with the whole line. */
static void add_part(struct buf *b, const char *text)
{
	if (text[0] == '\0')
		return;
	if (b->n_bytes > 0)
		buf_add(b, ", ");
	buf_add(b, text);
}

static void line_run(const struct result *r, struct buf *b)
{
	buf_addf(b, "%s  ", r->id);
	cells_add_time(b, r->started_wall_ns, CELLS_TIME_LOCAL);
	buf_addf(b, "  %s", run_status_name(r->status));
	if (r->reason[0])
		buf_addf(b, ": %s", r->reason);
	if (r->label && r->label[0])
		buf_addf(b, "  [%s]", r->label);
}

static void line_host(const struct result *r, struct buf *b)
{
	const struct host_facts *h = &r->host;
	char memory[UNITS_TEXT_MAX], limit[UNITS_TEXT_MAX];

	add_part(b, h->hostname);
	if (h->kernel[0]) {
		buf_add(b, b->n_bytes > 0 ? ", " : "");
		buf_addf(b, "Linux %s", h->kernel);
	}
	add_part(b, h->machine);
	if (h->n_cpus > 0)
		buf_addf(b, ", %u CPU%s%s%s", h->n_cpus, h->n_cpus == 1 ? "" : "s",
			h->cpu_model[0] ? " " : "", h->cpu_model);
	if (h->memory_bytes > 0)
		buf_addf(b, ", %s memory", units_bytes_iec(h->memory_bytes, memory));
	if (h->memory_limit_bytes > 0 && h->memory_limit_bytes < h->memory_bytes)
		buf_addf(b, " (limit %s)", units_bytes_iec(h->memory_limit_bytes, limit));
	add_part(b, h->virtualization);
}

/* The mount options that change figures; the others only make the line long. */
static bool option_matters(const char *option, size_t n)
{
	static const char *const words[] = { "ro", "sync", "dirsync", "noatime", "strictatime",
		"nobarrier", "barrier=", "data=", "commit=", "compress", "discard", "nodatacow",
		"nodatasum", "dax",
		"vers=", "wsize=", "rsize=", "logbsize=", "journal_async_commit", "volatile",
		"lazytime", "nojournal", "size=", "autodefrag", "ssd" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n_word = strlen(words[i]);
		bool open_end = words[i][n_word - 1] == '=' || strcmp(words[i], "compress") == 0 ||
				strcmp(words[i], "dax") == 0 || strcmp(words[i], "discard") == 0;

		if (n >= n_word && strncmp(option, words[i], n_word) == 0 &&
			(n == n_word || open_end))
			return true;
	}
	return false;
}

static void add_options(struct buf *b, const char *options)
{
	while (*options) {
		size_t n = strcspn(options, ",");

		if (option_matters(options, n)) {
			buf_add(b, ", ");
			buf_add_bytes(b, options, n);
		}
		options += n + (options[n] == ',');
	}
}

static void line_target(const struct result *r, struct buf *b)
{
	const struct target_facts *t = &r->target;
	char size[UNITS_TEXT_MAX];

	buf_add(b, t->path);
	if (t->real_path[0] && strcmp(t->real_path, t->path) != 0)
		buf_addf(b, " = %s", t->real_path);
	if (t->fs_type[0]) {
		buf_addf(b, ": %s", t->fs_type);
		if (t->fs_source[0])
			buf_addf(b, " on %s", t->fs_source);
		add_options(b, t->fs_options);
	}
	if (t->size_bytes > 0)
		buf_addf(b, ", %s", units_bytes_iec(t->size_bytes, size));
	else if (t->fs_size_bytes > 0)
		buf_addf(b, ", %s", units_bytes_iec(t->fs_size_bytes, size));
	if (t->fs_size_bytes > 0)
		buf_addf(b, ", %s free", units_bytes_iec(t->fs_free_bytes, size));
	if (t->fs_class == FS_MEMORY)
		buf_add(b, ", memory, not storage");
	if (t->fs_class == FS_NETWORK)
		buf_add(b, ", network: the device is out of sight");
}

static void line_disk(const struct disk_facts *d, struct buf *b)
{
	char size[UNITS_TEXT_MAX];

	buf_add(b, d->name);
	if (d->model[0])
		buf_addf(b, " %s", d->model);
	if (d->size_bytes > 0)
		add_part(b, units_bytes_iec(d->size_bytes, size));
	if (d->rotational >= 0)
		add_part(b, d->rotational ? "rotating" : "not rotating");
	if (d->scheduler[0])
		buf_addf(b, ", scheduler %s", d->scheduler);
	if (d->write_cache[0])
		buf_addf(b, ", cache %s", d->write_cache);
	if (d->backing[0])
		buf_addf(b, ", backed by %s", d->backing);
	if (!d->iostats)
		buf_add(b, ", does not count its I/O");
}

static void add_direct(struct buf *b, const struct result *r, enum direct_mode mode)
{
	if (mode == DIRECT_ON)
		buf_add(b, "direct");
	else if (mode != DIRECT_REFUSED)
		buf_add(b, "buffered");
	else if (r->target.fs_type[0])
		buf_addf(b, "buffered: direct refused by %s", r->target.fs_type);
	else
		buf_add(b, "buffered: direct refused");
}

static bool same_engine(const struct phase_settings *a, const struct phase_settings *b)
{
	return strcmp(a->engine, b->engine) == 0 && a->direct == b->direct &&
	       strcmp(a->engine_detail, b->engine_detail) == 0;
}

/* Phases of file operations go by system calls: of interest only when there is nothing else. */
static bool names_engine(const struct result *r, const struct phase_result *phase)
{
	if (phase->settings.engine[0] == '\0' && phase->settings.engine_detail[0] == '\0')
		return false;
	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phases[i].settings.n_files == 0)
			return phase->settings.n_files == 0;
	return true;
}

/* Engine and mode, once for each combination in the result. */
static void add_engines(struct buf *b, const struct result *r)
{
	for (size_t i = 0; i < r->n_phases; i++) {
		const struct phase_settings *s = &r->phases[i].settings;
		bool seen = !names_engine(r, &r->phases[i]);

		for (size_t k = 0; k < i && !seen; k++)
			seen = names_engine(r, &r->phases[k]) &&
			       same_engine(&r->phases[k].settings, s);
		if (seen)
			continue;
		buf_addf(b, "; %s, ", s->engine_detail[0] ? s->engine_detail : s->engine);
		add_direct(b, r, s->direct);
	}
}

static void line_plan(const struct result *r, struct buf *b)
{
	char size[UNITS_TEXT_MAX];
	uint64_t size_bytes = 0;

	for (size_t i = 0; i < r->n_phases; i++)
		if (r->phases[i].settings.size_bytes > size_bytes)
			size_bytes = r->phases[i].settings.size_bytes;
	buf_addf(b, "%s, %u sample%s", r->plan, r->n_samples_asked,
		r->n_samples_asked == 1 ? "" : "s");
	if (size_bytes > 0)
		buf_addf(b, ", size %s", units_bytes_iec(size_bytes, size));
	add_engines(b, r);
}

static int print_line(const char *name, const struct buf *line, const struct report_style *style,
	FILE *out, struct err *e)
{
	cleanup(buf_release_p) struct buf b = { 0 };

	cells_add_text(&b, buf_text(line), style->ascii);
	if (line->failed || b.failed)
		return err_set(e, ERR_NOMEM, 0, "memory is out for the head of a result");
	fprintf(out, "%s%-6s%s  %s\n", style->color ? "\033[1m" : "", name,
		style->color ? "\033[0m" : "", buf_text(&b));
	return 0;
}

/* Many disks: the first few are enough to know the kind; the record has them all. */
enum { N_DISKS_SHOWN = 4 };

static int print_disks(
	const struct result *r, const struct report_style *style, FILE *out, struct err *e)
{
	unsigned n = r->target.n_disks;
	unsigned n_shown = style->verbose || n <= N_DISKS_SHOWN ? n : N_DISKS_SHOWN - 1;

	if (n_shown > PROBE_N_LEAVES_MAX)
		n_shown = PROBE_N_LEAVES_MAX;
	for (unsigned i = 0; i < n_shown; i++) {
		cleanup(buf_release_p) struct buf b = { 0 };

		line_disk(&r->target.disks[i], &b);
		if (print_line("disk", &b, style, out, e))
			return -1;
	}
	if (n_shown < n)
		fprintf(out, "        and %u more disks\n", n - n_shown);
	return 0;
}

int report_head(const struct result *r, const struct report_style *style, FILE *out, struct err *e)
{
	static const struct {
		const char *name;
		void (*fill)(const struct result *r, struct buf *b);
	} lines[] = {
		{ "run", line_run },
		{ "host", line_host },
		{ "target", line_target },
		{ "disk", NULL },
		{ "plan", line_plan },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		cleanup(buf_release_p) struct buf b = { 0 };

		if (!lines[i].fill) {
			if (print_disks(r, style, out, e))
				return -1;
			continue;
		}
		lines[i].fill(r, &b);
		if ((b.failed || b.n_bytes > 0) && print_line(lines[i].name, &b, style, out, e))
			return -1;
	}
	return 0;
}
