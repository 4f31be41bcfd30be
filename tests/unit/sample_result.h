/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A result with something in every field, for tests of what stores and shows it. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "result/result.h"
#include "test.h"

#define SAMPLE_TEXT(field, text) snprintf((field), sizeof(field), "%s", (text))

static inline struct phase_settings sample_settings(void)
{
	struct phase_settings s = {
		.block_bytes = 4096,
		.depth_asked = 32,
		.depth = 31,
		.n_threads_asked = 4,
		.n_threads = 3,
		.read_pct = 70,
		.size_bytes = 1ull << 30,
		.time_ns = 5000000000,
		.rate_iops = 1000,
		.n_dirs = 3,
		.seed = UINT64_MAX - 5,
		.direct = DIRECT_REFUSED,
		.flush = FLUSH_EACH,
		.data = DATA_COMPRESS,
		.compress_pct = 50,
		.verify = true,
	};

	SAMPLE_TEXT(s.access, "randrw");
	SAMPLE_TEXT(s.engine, "uring");
	SAMPLE_TEXT(s.engine_detail, "registered buffers, registered files");
	return s;
}

static inline struct phase_evidence sample_evidence(void)
{
	return (struct phase_evidence){
		.asked_read_bytes = 700000,
		.asked_write_bytes = 300000,
		.device = { .known = true,
			.read_bytes = 690000,
			.written_bytes = 310000,
			.n_reads = 170,
			.n_writes = 75,
			.n_flushes = 9,
			.busy_ns = 4900000000 },
		.cached_known = true,
		.cached_before_bytes = 4096,
		.cached_after_bytes = 8192,
		.worker_cpu_ratio = 0.25,
		.busiest_cpu_ratio = 0.5,
	};
}

/* Every count differs from every other one, so that a mix-up shows. */
static inline struct phase_result sample_phase(const char *name, uint32_t sample)
{
	struct phase_result p = {
		.sample = sample,
		.status = PHASE_PARTIAL,
		.settings = sample_settings(),
		.started_wall_ns = 1764000000123456789,
		.elapsed_ns = 5000000001,
		.flush_ns = 12345,
		.prepare_ns = 999,
		.n_ops = 2000,
		.read_bytes = 700000,
		.written_bytes = 300000,
		.n_short = 7,
		.n_retries = 8,
		.n_verified_units = 100,
		.n_bad_units = 3,
		.cpu_user_s = 0.125,
		.cpu_system_s = 0.1,
		.evidence = sample_evidence(),
		.error = { .sys = 5, .offset_bytes = 4096, .n_bytes = 512 },
	};

	SAMPLE_TEXT(p.name, name);
	SAMPLE_TEXT(p.reason, "interrupted by SIGINT");
	SAMPLE_TEXT(p.error.op, "read");
	p.latency = hist_new();
	assert_non_null(p.latency);
	for (uint64_t i = 1; i <= 2000; i++)
		hist_add(p.latency, i * 1000);
	assert_int_equal(phase_make_metrics(&p, NULL), 0);
	return p;
}

static inline void sample_host_and_target(struct result *r)
{
	SAMPLE_TEXT(r->host.hostname, "box");
	SAMPLE_TEXT(r->host.kernel, "6.18.0");
	SAMPLE_TEXT(r->host.machine, "x86_64");
	SAMPLE_TEXT(r->host.cpu_model, "A CPU (R) @ 3.00GHz");
	r->host.n_cpus = 2;
	r->host.memory_bytes = 8ull << 30;
	r->host.memory_limit_bytes = 4ull << 30;
	SAMPLE_TEXT(r->host.virtualization, "kvm");
	SAMPLE_TEXT(r->host.boot_id, "11111111-2222-3333-4444-555555555555");

	r->target.kind = TARGET_FILE;
	SAMPLE_TEXT(r->target.path, "data/file");
	SAMPLE_TEXT(r->target.real_path, "/srv/data/file");
	SAMPLE_TEXT(r->target.fs_type, "ext4");
	r->target.fs_class = FS_NETWORK;
	SAMPLE_TEXT(r->target.fs_source, "/dev/vda1");
	SAMPLE_TEXT(r->target.fs_options, "rw,noatime");
	SAMPLE_TEXT(r->target.mount_point, "/srv");
	r->target.fs_size_bytes = 100000000000;
	r->target.fs_free_bytes = 50000000000;
	r->target.size_bytes = 77;
	r->target.read_only = true;
	r->target.n_disks = 2;
	for (unsigned i = 0; i < 2; i++) {
		struct disk_facts *d = &r->target.disks[i];

		snprintf(d->name, sizeof(d->name), "vd%c", 'a' + (int)i);
		d->major = 254;
		d->minor = i * 16;
		d->size_bytes = 1000000000000 + i;
		SAMPLE_TEXT(d->model, "A DISK");
		SAMPLE_TEXT(d->scheduler, "none");
		SAMPLE_TEXT(d->write_cache, "write back");
		SAMPLE_TEXT(d->backing, "/img");
		d->rotational = (int)i - 1;
		d->logical_block_bytes = 512;
		d->physical_block_bytes = 4096;
		d->max_request_bytes = 1310720;
		d->iostats = i == 1;
	}
}

/* Caller frees. Two samples of two phases, two findings. */
static inline struct result *sample_result(void)
{
	struct result *r = result_new();
	struct finding note = { .severity = SEVERITY_NOTE };
	struct finding bad = { .severity = SEVERITY_ERROR, .sample = 2 };

	assert_non_null(r);
	r->started_wall_ns = 1764000000000000001;
	r->ended_wall_ns = 1764000100000000002;
	SAMPLE_TEXT(r->tool, "clyde");
	SAMPLE_TEXT(r->version, "0.1.0");
	r->command_line = strdup("clyde run '/srv/data file'");
	r->label = strdup("before");
	SAMPLE_TEXT(r->plan, "overview");
	r->n_samples_asked = 3;
	r->status = RUN_PARTIAL;
	SAMPLE_TEXT(r->reason, "interrupted");
	r->pid = 4242;
	r->pid_start_ticks = 99;
	sample_host_and_target(r);
	for (uint32_t sample = 1; sample <= 2; sample++) {
		struct phase_result a = sample_phase("rand_read_qd32", sample);
		struct phase_result b = sample_phase("mixed_qd32", sample);

		assert_int_equal(result_take_phase(r, &a, NULL), 0);
		assert_int_equal(result_take_phase(r, &b, NULL), 0);
	}
	SAMPLE_TEXT(note.check, "no-device");
	SAMPLE_TEXT(note.text, "no device is in sight");
	SAMPLE_TEXT(bad.check, "verify-mismatch");
	SAMPLE_TEXT(bad.phase, "mixed_qd32");
	SAMPLE_TEXT(bad.mark, "BAD DATA");
	SAMPLE_TEXT(bad.text, "3 of 100 blocks");
	assert_int_equal(result_add_finding(r, &note, NULL), 0);
	assert_int_equal(result_add_finding(r, &bad, NULL), 0);
	return r;
}
