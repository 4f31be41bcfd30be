#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Storage that fails, lies or refuses, as tests/faultfs makes it: each time the right exit status,
# one line that says what happened, one JSON document, what was measured in the history, and
# nothing left behind.
# Usage: faults.sh CLYDE FAULTFS
clyde=$(readlink -f "$1")
[ -n "${2:-}" ] && [ -x "$2" ] || { echo "SKIP: built without libfuse3"; exit 77; }
faultfs=$(readlink -f "$2")
. "$(dirname "$0")/lib.sh"
[ -r /dev/fuse ] && [ -w /dev/fuse ] || skip "no /dev/fuse"

n_mounts=0
# mount_faults OPTION...: $mount is a new fault file system over the empty $under
mount_faults() {
	local option options=()
	n_mounts=$((n_mounts + 1))
	mount=$scratch/m$n_mounts under=$scratch/u$n_mounts
	mkdir "$mount" "$under"
	for option in "$@"; do options+=(-o "$option"); done
	"$faultfs" "$mount" -o "root=$under" "${options[@]}" 2>"$scratch/mount.err" ||
		skip "cannot mount: $(tail -n 1 "$scratch/mount.err")"
	lib_mounts+=("$mount")
}

# run_on WHAT STATUS N_LINES [ARGUMENT...]: runs clyde on $mount, checks what is common
run_on() {
	what=$1
	local status=$2 lines=$3 code
	shift 3
	"$clyde" --json run "$mount" --samples 1 --time 100ms --size 8M "$@" \
		>"$scratch/out" 2>"$scratch/err" </dev/null
	code=$?
	expect "$what: exit status" "$status" "$code"
	expect "$what: lines on standard error" "$lines" "$(wc -l <"$scratch/err")"
	if jq -es "length == 1 and (.[0] | has(\"error\")) == ($status != 0)" "$scratch/out" >/dev/null; then
		ok "$what: one JSON document"
	else
		fail "$what: JSON: $(head -c 300 "$scratch/out")"
	fi
}

# says PATTERN: the last line on standard error
says() {
	if tail -n 1 "$scratch/err" | grep -qE -- "$1"; then
		ok "$what: says so"
	else
		fail "$what: '$1' is not in: $(tail -n 1 "$scratch/err")"
	fi
}

# kept STATUS: what the history says of the run just made
kept() {
	local id
	id=$(jq -r '.results[0].id' "$scratch/out")
	expect "$what: in the history" "$1" "$("$clyde" --json show "$id" | jq -r .status)"
	[ "$1" = done ] || "$clyde" --json show "$id" | jq -e '.reason | length > 0' >/dev/null ||
		fail "$what: no reason in the history"
}

# phase EXPRESSION: true of the first phase of the run
phase() {
	jq -e ".results[0].phases[0] | $1" "$scratch/out" >/dev/null &&
		ok "$what: $1" || fail "$what: not $1: $(jq -c '.results[0].phases[0]' "$scratch/out" | head -c 600)"
}

nothing_left() {
	expect "$what: nothing left" "" "$(ls -A "$under")"
}

# broken WHAT STATUS PATTERN RULES ARGUMENT...: a run that starts and fails
broken() {
	local name=$1 status=$2 pattern=$3 rules=$4
	shift 4
	# shellcheck disable=SC2086 # several options
	mount_faults $rules
	run_on "$name" "$status" 3 "$@"
	says "$pattern"
	kept partial
	nothing_left
	umount "$mount"
}

# sound WHAT RULES ARGUMENT...: a run that gets over it
sound() {
	local name=$1 rules=$2
	shift 2
	# shellcheck disable=SC2086
	mount_faults $rules
	run_on "$name" 0 2 "$@"
	kept done
	nothing_left
	umount "$mount"
}

# refused WHAT STATUS PATTERN RULES ARGUMENT...: a run that never starts
refused() {
	local name=$1 status=$2 pattern=$3 rules=$4
	shift 4
	# shellcheck disable=SC2086
	mount_faults $rules
	run_on "$name" "$status" 1 "$@"
	says "$pattern"
	nothing_left
	umount "$mount"
}

# ---- errors ----

# ends: a broken run that the error ends, however slow the machine is
ends() {
	broken "$@" --time 1min
}

ends "EIO on read" 1 "rand_read_qd1: read of 4 KiB at offset [0-9]+: Input/output error" \
	rule=read:name=data:after=20:errno=EIO --phase rand_read_qd1
phase '.status == "partial" and .error.op == "read" and .n_ops == 20'
ends "EIO on read, synchronous" 1 "read of 4 KiB at offset [0-9]+: Input/output error" \
	rule=read:name=data:after=20:errno=EIO --phase rand_read_qd1 --engine sync
phase '.n_ops == 20'
ends "a bad sector" 1 "seq_read: read of 1 MiB at offset 4194304: Input/output error" \
	rule=read:name=data:at=4200000:errno=EIO --phase seq_read
phase '.error.offset_bytes == 4194304'
ends "EIO on the first read" 1 "read of 4 KiB at offset [0-9]+: Input/output error" \
	rule=read:name=data:errno=EIO --phase rand_read_qd1
phase '.status == "failed"'
ends "EIO on write" 1 "rand_write_qd32: write of 4 KiB at offset [0-9]+: Input/output error" \
	rule=write:name=data:after=40:errno=EIO --phase rand_write_qd32
ends "EIO on laying out" 1 "laying out the test file: write of 1 MiB at offset [0-9]+: Input/output error" \
	rule=write:name=data:nth=5:errno=EIO --phase rand_read_qd1
ends "ENOSPC" 1 "write of 4 KiB at offset [0-9]+: No space left on device" \
	rule=write:name=data:after=40:errno=ENOSPC --phase rand_write_qd32
broken "fdatasync fails at the end" 1 "rand_write_qd32: fdatasync of the file: Input/output error" \
	rule=fsync:name=data:nth=2:errno=EIO --phase rand_write_qd32
ends "fdatasync fails in the middle" 1 "sync_write: fdatasync of 4 KiB at offset 81920: Input/output error" \
	rule=fsync:name=append:after=20:errno=EIO --phase sync_write
phase '.n_ops == 20'
ends "ENOSPC for small files" 1 "file_create_seq: create of '.*': No space left on device" \
	rule=create:after=100:errno=ENOSPC --phase file_create_seq
broken "what was measured before stays" 1 "rand_write_qd32: write .* what was measured before is kept" \
	rule=write:name=data:after=40:errno=EIO --phase rand_read_qd1 --phase rand_write_qd32
phase '.name == "rand_read_qd1" and .status == "done"'

# ---- what a run gets over ----

sound "short reads" rule=read:name=data:every=3:short=4096 --rw read --block 64k --depth 4 --verify
phase '.n_short > 0 and .n_bad_units == 0 and .n_verified_units > 0'
sound "short reads, odd bytes" rule=read:name=data:every=3:short=700 --rw read --block 64k --verify
phase '.n_short > 0 and .n_bad_units == 0'
sound "short writes" "direct_io rule=write:name=data:every=3:short=4096" \
	--rw write --block 64k --engine sync --verify
phase '.n_short > 0'
for errno in EINTR EAGAIN; do
	for engine in sync uring; do
		sound "$errno on read, $engine" rule=read:name=data:every=3:errno=$errno \
			--rw randread --verify --engine $engine
		sound "$errno on write, $engine" rule=write:name=data:every=3:errno=$errno \
			--rw randwrite --verify --engine $engine
	done
done
sound "a slow device" rule=read:name=data:delay=20 --rw randread
phase '.latency.min_ns >= 20000000 or (.metrics[] | select(.id | endswith("latency_max")).value >= 0.02)'
sound "a file removed while open is only renamed" "" --phase rand_read_qd1
sound "a removed file is gone at once" hard_remove --phase rand_read_qd1

# ---- wrong data ----

# The first write tries direct I/O, the third is the second MiB: the byte in its middle.
broken "a flipped byte on the way down" 3 "verification failed at offset 1572864: the block holds garbage" \
	rule=write:name=data:nth=3:corrupt --phase rand_read_qd1 --engine sync --verify
broken "a flipped byte on the way up" 3 \
	"rand_read_qd1: verification failed at offset [0-9]+: the block holds garbage" \
	rule=read:name=data:nth=20:corrupt --phase rand_read_qd1 --verify --time 500ms
phase '.n_bad_units == 1'
broken "zeros" 3 "verification failed at offset [0-9]+: the block holds zeros" \
	rule=read:name=data:nth=20:zeros --phase rand_read_qd1 --verify --time 500ms
phase '.n_bad_units == 1'
broken "a write in the wrong place" 3 \
	"verification failed at offset [0-9]+: the block holds data of another offset, [0-9]+" \
	rule=write:name=data:nth=5:misplace=8192 --phase rand_read_qd1 --verify
broken "lost writes" 3 \
	"verify: verification failed at offset [0-9]+: the block holds an older generation, [0-9]+ where [0-9]+ was written" \
	rule=write:name=data:after=60:lose --phase rand_write_qd32 --verify --time 500ms
broken "a flipped byte in an appended file" 3 \
	"sync_write: verification failed at offset 16384: the block holds garbage" \
	rule=write:name=append:nth=5:corrupt --phase sync_write --verify
sound "a flipped byte nobody asked about" rule=read:name=data:nth=20:corrupt --phase rand_read_qd1

# ---- refused ----

sound "direct refused" direct=refuse --phase rand_read_qd1
grep -q "buffered: direct refused by fuse" "$scratch/err" && ok "direct refused: the first lines say so" ||
	fail "direct refused: $(head -n 1 "$scratch/err")"
phase '.settings.direct == "refused"'
refused "direct refused, but a must" 4 "--direct=on: direct I/O is refused by fuse.* use --direct=auto" \
	direct=refuse --direct=on --phase rand_read_qd1
refused "no test directory: EIO" 1 "cannot make test files in '.*': Input/output error" \
	rule=mkdir:errno=EIO
refused "no test directory: ENOSPC" 4 "cannot make test files in '.*': No space left on device" \
	rule=mkdir:errno=ENOSPC
refused "no manifest" 1 "cannot make test files in '.*': Input/output error" rule=write:errno=EIO
refused "no test file" 4 "cannot make the test file '.*/data': No space left on device" \
	rule=create:name=data:errno=ENOSPC

# ---- what cannot be removed ----

# stays WHAT PATTERN RULES ARGUMENT...: the line names it; clyde clean removes it once it can be
stays() {
	local name=$1 pattern=$2 rules=$3
	shift 3
	# shellcheck disable=SC2086
	mount_faults $rules
	run_on "$name" 1 3 "$@"
	says "$pattern"
	says "clyde clean"
	expect "$what: it stays" 1 "$(leftovers "$under")"
	umount "$mount"
	"$clyde" clean "$under" >/dev/null 2>&1
	expect "$what: clean exits 0" 0 $?
	nothing_left
}

stays "unlink fails at the end" "cannot remove '\.clyde-.*/data': Input/output error" \
	rule=unlink:name=data:after=1:errno=EIO --phase rand_read_qd1
kept done
stays "rmdir fails at the end" "cannot remove '\.clyde-.*/': Device or resource busy" \
	rule=rmdir:errno=EBUSY --phase rand_read_qd1
stays "unlink of small files fails" "file_delete_seq: delete of '.*': Input/output error;.* \(and [0-9]+ more\)" \
	rule=unlink:after=100:errno=EIO --phase file_delete_seq
kept partial
exit $lib_failed
