#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run that is cut short: by kill -9, by each signal, by a full disk, by two at once. What was
# measured is kept, marked partial with the reason, and nothing is left behind.
# Usage: interrupts.sh CLYDE
clyde=$(readlink -f "$1")
. "$(dirname "$0")/lib.sh"

target=$scratch/target
n_started=0
mkdir "$target"

# n_phases: phases of the last result that are done
n_done() {
	"$clyde" --json show last | jq '[.phases[] | select(.status == "done")] | length'
}
has_done() {
	[ "$(n_done 2>/dev/null || echo 0)" -ge "$1" ]
}
status() {
	"$clyde" --json show last | jq -r .status
}
reason() {
	"$clyde" --json show last | jq -r .reason
}
# A history of its own, so that the last run is this one from the first moment.
start() {
	CLYDE_DB=$scratch/history$((n_started += 1)).db
	"$clyde" run "$target" --allow-memory --time 1s --size 32M --samples 50 "$@" >"$scratch/out" 2>"$scratch/err" &
	pid=$!
	lib_pids+=("$pid")
}

start
wait_until 60 has_done 3 || fail "three phases never ended: $(cat "$scratch/err")"
kill -9 "$pid"
wait "$pid" 2>/dev/null
expect "kill -9: marked partial" partial "$(status)"
expect "kill -9: the reason" "killed while running" "$(reason)"
if has_done 3; then ok "kill -9: phases 1-3 are kept"; else fail "kill -9: only $(n_done) phases"; fi
expect "kill -9: leaves a test directory" 1 "$(leftovers "$target")"
"$clyde" clean "$target" >/dev/null 2>&1
expect "clean exits 0" 0 $?
expect "clean removes it" 0 "$(leftovers "$target")"

for signal in INT TERM HUP; do
	start
	wait_until 60 has_done 1 || fail "SIG$signal: no phase ended"
	kill -$signal "$pid"
	wait "$pid"
	code=$?
	expect "SIG$signal: exit status" 130 $code
	expect "SIG$signal: partial" partial "$(status)"
	case $(reason) in
	*SIG$signal*) ok "SIG$signal: the reason names it" ;;
	*) fail "SIG$signal: reason '$(reason)'" ;;
	esac
	expect "SIG$signal: nothing left" 0 "$(leftovers "$target")"
	grep -q seq_write "$scratch/out" && ok "SIG$signal: the table is printed" ||
		fail "SIG$signal: no table: $(cat "$scratch/err")"
done

start --json
wait_until 60 has_done 1 || fail "--json: no phase ended"
kill -TERM "$pid"
wait "$pid"
jq -e '.error.kind == "interrupted" and (.results | length) == 1' "$scratch/out" >/dev/null &&
	ok "--json is one document when interrupted" || fail "--json interrupted: $(head -c 300 "$scratch/out")"

# timeout(1) and terminals signal the process and its group: two in the same moment are one request.
start
wait_until 60 has_done 1 || fail "twice: no phase ended"
kill -TERM "$pid"
kill -TERM "$pid"
wait "$pid"
expect "SIGTERM twice at once: exit status" 130 $?
expect "SIGTERM twice at once: nothing left" 0 "$(leftovers "$target")"

# A limit on the size of files is an error with a line, not the death by SIGXFSZ.
(
	ulimit -f 4096 # KiB: the history fits, the test file does not
	exec "$clyde" --db "$scratch/limit.db" run "$target" --allow-memory --time 200ms --size 8M --samples 1 \
		--phase seq_write
) >"$scratch/out" 2>"$scratch/err"
code=$?
case $code in
1 | 4) ok "file size limit: exit status $code" ;;
*) fail "file size limit: exit status $code" ;;
esac
grep -q "File too large" "$scratch/err" && ok "file size limit: the line says so" ||
	fail "file size limit: $(cat "$scratch/err")"
expect "file size limit: nothing left" 0 "$(leftovers "$target")"

# Two at once share the history.
"$clyde" --json run "$target" --allow-memory --quick --time 200ms --size 32M --phase rand_read_qd1 >"$scratch/a.json" 2>"$scratch/a.err" &
a=$!
"$clyde" --json run "$target" --allow-memory --quick --time 200ms --size 32M --phase rand_read_qd1 >"$scratch/b.json" 2>"$scratch/b.err" &
b=$!
wait $a
expect "two at once: the first" 0 $?
wait $b
expect "two at once: the second" 0 $?
for one in a b; do
	id=$(jq -r '.results[0].id' "$scratch/$one.json")
	expect "two at once: $one is in the history" "$id" "$("$clyde" --json show "$id" | jq -r .id)"
done
expect "two at once: nothing left" 0 "$(leftovers "$target")"
exit $lib_failed
