#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the README names exists: targets of make, scripts, commands, options and
# files.  commands.t runs what it prints as a session.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh

# What stands between backquotes, and the lines of code, one a line.
code() {
	grep -oE '`[^`]+`' README.md | tr -d '`'
	sed -n 's/^    \(\$ \)\{0,1\}//p' README.md
}

found() { # PATTERN: each once
	code | grep -oE "$1" | sort -u
}

while read -r _ target; do
	ok "make $target" grep -qE "^([a-z-]+ )*$target( [a-z-]+)*:" Makefile
done < <(found '^make [a-z-]+')

while read -r script subject; do
	ok "$script" test -x "$script"
	[ -z "$subject" ] || ok "$script $subject" \
		test -e "$script.d/$subject.sh"
done < <(found 'scripts/bench [a-z]+|^scripts/[a-z]+( |$)')

while read -r _ command; do
	ok "kin $command" "$KIN" help "$command"
done < <(found '(^|`)kin [a-z]+ ' | sed 's/^`//')

while read -r option; do
	like "$("$KINFS" -o help)" "-o $option( |=|"$'\n'")" "-o $option"
done < <(sed -n '/^| `-o` |/,/^$/ s/^| \(`.*`\) |[^|]*|[^|]*|$/\1/p' README.md |
	sed 's/\\|.*//' | grep -oE '`[a-z_]+' | tr -d '`')

while read -r file; do
	ok "$file" test -e "$file"
done < <(grep -oE '\]\([^)#:]+\)' README.md | sed 's/^](//; s/)$//' | sort -u)

# The map names what there is.
while read -r place; do
	ok "the map: $place" test -e "$place"
done < <(sed -n '/^    core\/base/,/^$/ s/^    \([a-z][^ ]*\/[^ ]*\) .*/\1/p' README.md)
finish
