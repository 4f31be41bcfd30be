#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A man page from its template: lines with a name in @ signs are replaced by what the program's own
# tables say, so that no option is missing.
# usage: make-man.sh CLYDE COMMAND TEMPLATE SCDOC     (COMMAND "clyde": the program itself)
set -eu
clyde=$1 command=$2 template=$3 scdoc=$4
[ "$command" = clyde ] && command=

part() {
	# shellcheck disable=SC2086 # no word when the command is empty
	"$clyde" help --scdoc "$1" $command
}

# Each is made before it is needed: a failure in a pipe would go unseen.
options=$(part options)
examples=$(part examples)
commands=$(part commands)
columns=$(part columns)

while IFS= read -r line; do
	case $line in
	@OPTIONS@) printf '%s\n' "$options" ;;
	@EXAMPLES@) printf '%s\n' "$examples" ;;
	@COMMANDS@) printf '%s\n' "$commands" ;;
	@COLUMNS@) printf '%s\n' "$columns" ;;
	*) printf '%s\n' "$line" ;;
	esac
done <"$template" | "$scdoc"
