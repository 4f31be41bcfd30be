#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The ruler: a loop device that the kernel's block I/O controller holds at 50 MB/s and 2000 IOPS.
# What clyde reports must be within 2 % of that. Requests are no larger than max_sectors_kb, since
# the controller charges a split request twice.
# Usage: throttled.sh CLYDE    Exit: 0 right, 1 wrong, 77 no such device can be made here.
set -u
clyde=$(readlink -f "$1")
bps=50000000
iops=2000
tolerance_pct=2

skip() {
	echo "SKIP: $*"
	exit 77
}

# In memory where there is room, so that the flush of the file below costs nothing.
dir=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
loop=
group=
cleanup() {
	[ -n "$loop" ] && losetup -d "$loop" 2>/dev/null
	[ -n "$group" ] && rmdir "$group" 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP

[ "$(id -u)" = 0 ] || skip "needs root"
command -v losetup >/dev/null || skip "needs losetup"
truncate -s 512M "$dir/disk" || exit 1
loop=$(losetup -f --show "$dir/disk" 2>/dev/null) || { loop=; skip "no loop device"; }
name=${loop#/dev/}
devno=$(cat "/sys/block/$name/dev")
request_bytes=$(($(cat "/sys/block/$name/queue/max_sectors_kb") * 1024))
block=131072
[ "$request_bytes" -ge "$block" ] || block=$request_bytes

v1=/sys/fs/cgroup/blkio
v2=/sys/fs/cgroup
if [ -e "$v1/blkio.throttle.read_bps_device" ]; then
	group=$v1/clyde-test-$$
	mkdir "$group" || { group=; skip "cannot make a cgroup"; }
	for way in read write; do
		echo "$devno $bps" >"$group/blkio.throttle.${way}_bps_device" || skip "no throttle"
		echo "$devno $iops" >"$group/blkio.throttle.${way}_iops_device" || skip "no throttle"
	done
elif grep -qsw io "$v2/cgroup.controllers"; then
	echo +io >"$v2/cgroup.subtree_control" 2>/dev/null
	group=$v2/clyde-test-$$
	mkdir "$group" || { group=; skip "cannot make a cgroup"; }
	echo "$devno rbps=$bps wbps=$bps riops=$iops wiops=$iops" >"$group/io.max" 2>/dev/null ||
		skip "the io controller does not throttle here"
else
	skip "no blkio or io controller"
fi

failed=0
# check NAME METRIC LIMIT OPTIONS...
check() {
	local what=$1 metric=$2 limit=$3 value
	shift 3
	(
		echo "$BASHPID" >"$group/cgroup.procs" || exit 9
		exec "$clyde" --db "$dir/db" --json run "$loop" --samples 1 --time 5s --size 256M \
			--direct=on --label "$what" "$@"
	) >"$dir/out.json" 2>"$dir/err" || {
		echo "FAIL: $what: exit $?: $(tail -n 1 "$dir/err")"
		failed=1
		return
	}
	value=$(jq -r --arg m ".$metric" \
		'.results[0].phases[0].metrics[] | select(.id | endswith($m)) | .value' "$dir/out.json")
	if awk -v v="$value" -v l="$limit" -v t="$tolerance_pct" \
		'BEGIN { r = v / l; printf "ratio %.4f  ", r; exit !(r > 1 - t / 100 && r < 1 + t / 100) }'; then
		echo "ok: $what: $value of $limit"
	else
		echo "FAIL: $what: $value is not within $tolerance_pct % of $limit"
		failed=1
	fi
}

check "sequential read"  throughput $bps  --rw read --block $block --depth 8
check "sequential write" throughput $bps  --rw write --block $block --depth 8 --write-device="$name"
check "random read"      iops       $iops --rw randread --block 4k --depth 32
check "random write"     iops       $iops --rw randwrite --block 4k --depth 32 --size 16M --write-device="$name"
check "read by threads"  iops       $iops --rw randread --block 4k --engine sync --threads 8
exit $failed
