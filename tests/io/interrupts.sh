#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A run that is cut short: by kill -9, by each signal, by a full disk, by two at once. What was
# measured is kept, marked partial with the reason, and nothing is left behind.
# Usage: interrupts.sh CLYDE
clyde=$(readlink -f "$1")
. "$(dirname "$0")/lib.sh"

target=$scratch/target
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
start() {
	"$clyde" run "$target" --time 1s --size 32M --samples 50 "$@" >"$scratch/out" 2>"$scratch/err" &
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
	# A shell's background child ignores SIGINT unless told otherwise; setsid -w keeps it away.
	if [ $signal = INT ]; then
		kill -9 "$pid"
		wait "$pid" 2>/dev/null
		"$clyde" clean "$target" >/dev/null 2>&1
		python3 - "$clyde" "$target" "$scratch/out" "$scratch/err" <<'PY'
import signal, subprocess, sys, time
clyde, target, out, err = sys.argv[1:]
def default_sigint():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen([clyde, "run", target, "--time", "1s", "--size", "32M", "--samples", "50"],
                     stdout=open(out, "w"), stderr=open(err, "w"), preexec_fn=default_sigint)
time.sleep(2.5)
p.send_signal(signal.SIGINT)
sys.exit(p.wait(timeout=30))
PY
		code=$?
	else
		kill -$signal "$pid"
		wait "$pid"
		code=$?
	fi
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

"$clyde" --json run "$target" --time 1s --size 32M --samples 50 >"$scratch/a.json" 2>/dev/null &
pid=$!
lib_pids+=("$pid")
sleep 2
kill -TERM "$pid"
wait "$pid"
jq -e '.error.kind == "interrupted" and (.results | length) == 1' "$scratch/a.json" >/dev/null &&
	ok "--json is one document when interrupted" || fail "--json interrupted: $(head -c 300 "$scratch/a.json")"

# Two at once share the history.
"$clyde" --json run "$target" --quick --time 200ms --size 32M --phase rand_read_qd1 >"$scratch/a.json" 2>"$scratch/a.err" &
a=$!
"$clyde" --json run "$target" --quick --time 200ms --size 32M --phase rand_read_qd1 >"$scratch/b.json" 2>"$scratch/b.err" &
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
