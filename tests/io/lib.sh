# SPDX-License-Identifier: GPL-3.0-or-later
# What the shell tests of tests/io share: a scratch directory, loop file systems, counting, and
# cleaning up whatever happens.
set -u
lib_failed=0
lib_mounts=()
lib_loops=()
lib_pids=()
scratch=$(mktemp -d)
export CLYDE_DB=$scratch/history.db

skip() {
	echo "SKIP: $*"
	exit 77
}

fail() {
	echo "FAIL: $*"
	lib_failed=1
}

ok() {
	echo "ok: $*"
}

# expect WHAT WANTED GOT
expect() {
	if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: wanted '$2', got '$3'"; fi
}

lib_cleanup() {
	local pid mount loop
	for pid in "${lib_pids[@]}"; do kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; done
	for mount in "${lib_mounts[@]}"; do
		umount "$mount" 2>/dev/null || { sleep 0.5; umount -l "$mount" 2>/dev/null; }
	done
	for loop in "${lib_loops[@]}"; do losetup -d "$loop" 2>/dev/null; done
	rm -rf "$scratch"
}
trap lib_cleanup EXIT
trap 'exit 1' INT TERM HUP

need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}

# make_loop NAME SIZE: $loop is a new loop device on a sparse file
make_loop() {
	command -v losetup >/dev/null || skip "needs losetup"
	truncate -s "$2" "$scratch/$1.img"
	loop=$(losetup -f --show "$scratch/$1.img" 2>/dev/null) || skip "no loop device can be made"
	lib_loops+=("$loop")
}

# mount_loop NAME SIZE FSTYPE [MKFS-OPTIONS]: $mount is a new file system on $loop
mount_loop() {
	command -v "mkfs.$3" >/dev/null || skip "needs mkfs.$3"
	make_loop "$1" "$2"
	"mkfs.$3" -q "${@:4}" "$loop" >/dev/null 2>&1 || skip "mkfs.$3 failed"
	mount=$scratch/$1
	mkdir "$mount"
	mount "$loop" "$mount" 2>/dev/null || skip "cannot mount $3"
	lib_mounts+=("$mount")
}

# leftovers DIR: how many test directories of clyde are there
leftovers() {
	find "$1" -maxdepth 1 -name '.clyde-*' | wc -l
}

# wait_until SECONDS COMMAND...: polls; 1 when it never came true
wait_until() {
	local n=$(($1 * 20))
	shift
	while ! "$@" >/dev/null 2>&1; do
		[ $((n -= 1)) -gt 0 ] || return 1
		sleep 0.05
	done
}
