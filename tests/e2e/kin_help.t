#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every command explains itself, however it is asked, and what is installed is
# found where DESTDIR says.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

commands=$("$KIN" help | sed -n 's/^  \([a-z]*\)  .*/\1/p' | grep -vx help)
isnt "$commands" "" "kin help lists the commands"
for command in $commands; do
	like "$("$KIN" help "$command")" "^usage: kin $command" \
		"kin help $command"
	for arguments in "--help" "-h" "some path --help"; do
		# shellcheck disable=SC2086 # words
		"$KIN" "$command" $arguments >"$T/said" 2>&1
		is "$?:$(cat "$T/said")" "0:$("$KIN" help "$command")" \
			"kin $command $arguments says the same"
	done
	not_ok "kin $command -- --help takes it for a path" \
		"$KIN" "$command" -- --help
done

installed() { # DIRECTORY
	env -u MAKEFLAGS -u MAKELEVEL make -s install DESTDIR="$1" PREFIX=/p &&
		"$1/p/bin/kin" --version && test -s "$1/p/share/man/man8/kinfs.8"
}
uninstalled() { # DIRECTORY
	env -u MAKEFLAGS -u MAKELEVEL make -s uninstall DESTDIR="$1" \
		PREFIX=/p && [ -z "$(find "$1" -type f)" ]
}
ok "make install into a directory with a blank" installed "$T/an image"
ok "make uninstall from it" uninstalled "$T/an image"

finish
