#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The command line as scripts meet it: exit status, what goes to which stream, and that --json
# prints one valid document whatever happens.
# usage: command_line.sh CLYDE SOURCE_ROOT
set -u
clyde=$1 root=$2
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export CLYDE_DB="$tmp/none/history.db" LC_ALL=C
failed=0

fail() {
	echo "FAIL: $*"
	failed=1
}

valid_json() {
	python3 -c 'import json, sys; json.load(sys.stdin)' <"$1" 2>/dev/null
}

# status NUMBER ARGUMENTS...: the exit status; 0 says nothing on standard error but remarks, the
# others one line that starts with the program's name.
status() {
	want=$1
	shift
	"$clyde" "$@" >"$tmp/out" 2>"$tmp/err"
	got=$?
	[ "$got" -eq "$want" ] || fail "clyde $*: exit status $got, not $want"
	if [ "$want" -ne 0 ]; then
		[ "$(grep -c '^clyde: ' "$tmp/err")" -eq 1 ] || fail "clyde $*: no one-line error"
		[ ! -s "$tmp/out" ] || fail "clyde $*: an error on standard output"
	fi
}

json() {
	want=$1
	shift
	"$clyde" "$@" >"$tmp/out" 2>"$tmp/err"
	got=$?
	[ "$got" -eq "$want" ] || fail "clyde $*: exit status $got, not $want"
	valid_json "$tmp/out" || fail "clyde $*: standard output is not one JSON document"
	if [ "$want" -ne 0 ]; then
		grep -q '"error"' "$tmp/out" || fail "clyde $*: no error in the document"
	fi
}

bad_database=$tmp/bad.db
echo "this is no database, whatever its name says; it only has to be long enough" >"$bad_database"

# Usage
status 2
status 2 no-such-command
status 2 --no-such-option
status 2 list --no-such-option
status 2 list operand
status 2 list --newest
status 2 list --newest 0
status 2 list --newest -1
status 2 list --newest 1e30
status 2 --db
status 2 show
status 2 show last~0x
status 2 show a b
status 2 show 'no such id'
status 2 clean
status 2 clean "$tmp/not-there"
status 2 plans no-such-plan
status 2 completion
status 2 completion fish
status 2 help no-such-command
status 1 --db "$bad_database" list
status 1 --db "$bad_database" show last
status 2 run "$tmp/not-there"

# Fine
status 0 --help
status 0 -h
status 0 --version
status 0 list
status 0 --db "$tmp/x.db" list --target / --label l -n 3
status 0 list --db="$tmp/x.db"
status 0 clean "$tmp"
status 0 clean --dry-run -- "$tmp"
for command in plans engines checks; do
	status 0 "$command"
	json 0 "$command" --json
done
[ ! -e "$tmp/x.db" ] && [ ! -e "$tmp/none" ] || fail "a command that reads made a history"

# One document, good or bad, wherever the option stands
json 0 list --json
json 0 --json list
json 0 --json clean "$tmp"
json 0 --json --help
json 0 --json --version
json 0 --json help run
json 0 --json help --columns
json 0 --json completion bash
json 2 --json
json 2 --json no-such-command
json 2 list --json operand
json 2 list --no-such-option --json
json 2 show --json last
json 2 run --json "$tmp/not-there"
json 2 run --json --size 0 "$tmp"
json 2 run --json --time -1 "$tmp"
json 2 run --json --depth 0 "$tmp"
json 2 clean --json "$tmp/not-there"
json 1 --json --db "$bad_database" show

# Hints
"$clyde" lsit 2>&1 | grep -q "did you mean 'list'" || fail "no hint for a mistyped command"

# Output that cannot be written is a failure, also of a command that went well
if [ -w /dev/full ]; then
	for arguments in '--help' '--version' 'help run' 'list --json' 'completion zsh'; do
		# shellcheck disable=SC2086 # several words
		"$clyde" $arguments >/dev/full 2>"$tmp/err"
		got=$?
		[ "$got" -eq 1 ] || fail "clyde $arguments >/dev/full: exit status $got, not 1"
		grep -q 'cannot write' "$tmp/err" || fail "clyde $arguments >/dev/full: no message"
	done
fi
"$clyde" --help >&- 2>"$tmp/err"
[ $? -eq 1 ] || fail "closed standard output is no failure"

# Every command has help with its options, a man page, and is completed
for command in $("$clyde" help --scdoc commands | sed -n 's/^\*clyde \(.*\)\*$/\1/p'); do
	status 0 help "$command"
	cp "$tmp/out" "$tmp/help"
	status 0 "$command" --help
	cmp -s "$tmp/out" "$tmp/help" || fail "clyde $command --help is not clyde help $command"
	"$clyde" completion bash | grep -q "^	$command)" || fail "bash does not complete $command"
	"$clyde" completion zsh | grep -q "^	$command)" || fail "zsh does not complete $command"
	[ "$command" = help ] || [ -e "$root/docs/man/clyde-$command.1.scd.in" ] ||
		fail "clyde-$command(1) is not there"
done
"$clyde" completion bash | bash -n || fail "the bash script has a syntax error"

exit "$failed"
