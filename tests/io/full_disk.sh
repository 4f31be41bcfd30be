#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Disks that fill up, break, or cannot be written at all.
# Usage: full_disk.sh CLYDE
clyde=$(readlink -f "$1")
. "$(dirname "$0")/lib.sh"
need_root

mount_loop small 64M ext4
# The append file of sync_write grows until the disk is full.
free_kb=$(df --output=avail "$mount" | tail -n 1)
"$clyde" run "$mount" --size 8M --samples 1 --phase sync_write --time 1h --block 1M \
	>"$scratch/out" 2>"$scratch/err"
expect "disk full: exit status" 1 $?
grep -q "No space left on device" "$scratch/err" && ok "disk full: the line says so" ||
	fail "disk full: $(cat "$scratch/err")"
expect "disk full: partial" partial "$("$clyde" --json show last | jq -r .status)"
expect "disk full: nothing left" 0 "$(leftovers "$mount")"
now_kb=$(df --output=avail "$mount" | tail -n 1)
[ "$now_kb" -ge $((free_kb - 1024)) ] && ok "disk full: the space is free again" ||
	fail "disk full: $free_kb kB free before, $now_kb after"
"$clyde" --json run "$mount" --size 8M --samples 1 --phase sync_write --time 1h --block 1M \
	>"$scratch/out.json" 2>/dev/null
jq -e '.error.kind == "io" and .results[0].status == "partial"' "$scratch/out.json" >/dev/null &&
	ok "disk full: --json is one document" || fail "disk full: $(head -c 300 "$scratch/out.json")"

"$clyde" run "$mount" --size 1G >"$scratch/out" 2>"$scratch/err"
expect "no space for the file: exit status" 4 $?
expect "no space for the file: one line" 1 "$(wc -l <"$scratch/err")"
grep -q -- --size "$scratch/err" && ok "no space for the file: names the option" ||
	fail "no space: $(cat "$scratch/err")"
expect "no space for the file: nothing left" 0 "$(leftovers "$mount")"

mount -o remount,ro "$mount" || fail "the mount is still busy after the run"
"$clyde" run "$mount" >"$scratch/out" 2>"$scratch/err"
expect "read-only: exit status" 4 $?
expect "read-only: one line" 1 "$(wc -l <"$scratch/err")"
mount -o remount,rw "$mount"

if command -v dmsetup >/dev/null && make_loop dm 64M; then
	dm=clyde-test-$$
	# The middle of the device fails.
	if dmsetup create $dm <<-TABLE 2>/dev/null
	0 65536 linear $loop 0
	65536 1024 error
	66560 64512 linear $loop 66560
	TABLE
	then
		"$clyde" run /dev/mapper/$dm --samples 1 --phase seq_read --time 30s \
			>"$scratch/out" 2>"$scratch/err"
		code=$?
		dmsetup remove $dm
		expect "EIO: exit status" 1 $code
		grep -q "Input/output error" "$scratch/err" && ok "EIO: the line says so" ||
			fail "EIO: $(cat "$scratch/err")"
		"$clyde" --json show last | jq -e '.phases[0].error.offset_bytes >= 32505856' >/dev/null &&
			ok "EIO: the place is kept" || fail "EIO: $("$clyde" --json show last | jq -c '.phases[0].error')"
	else
		echo "note: no device mapper here, EIO is tested by the fault file system"
	fi
fi
exit $lib_failed
