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

for arguments in "" "--help" "-h" "help"; do
	# shellcheck disable=SC2086 # none is no word
	"$KIN" help $arguments >"$T/said" 2>&1
	is "$?:$(cat "$T/said")" "0:$("$KIN" --help)" \
		"kin help $arguments says what kin --help says"
done

# A help text is read on a terminal of the oldest size.
fits() { # COMMAND...
	"$@" | awk 'length > 80 { print; bad = 1 }
		END { if (NR > 24) { print NR " lines"; bad = 1 }; exit bad }'
}
for command in '' $commands; do
	# shellcheck disable=SC2086 # none is no word
	ok "kin help $command fits 24 lines of 80 characters" \
		fits "$KIN" help $command
done
ok "kinfs -h, too" fits "$KINFS" -h
ok "kin-share --help, too" fits "${KIN%/*}/kin-share" --help
ok "kin-share init --help, too" fits "${KIN%/*}/kin-share" init --help
ok "kin-extract --help, too" fits "${KIN%/*}/kin-extract" --help
like "$("$KINFS" -o help)" '-o sandbox=yes\|no' "kinfs -o help has all options"
unlike "$("$KINFS" -h)" 'sandbox' "... kinfs -h those of most mounts"

installed() { # DIRECTORY
	run_make install DESTDIR="$1" PREFIX=/p &&
		"$1/p/bin/kin" --version && test -s "$1/p/share/man/man8/kinfs.8"
}
uninstalled() { # DIRECTORY
	run_make uninstall DESTDIR="$1" \
		PREFIX=/p && [ -z "$(find "$1" -type f)" ]
}
ok "make install into a directory with a blank" installed "$T/an image"
ok "make uninstall from it" uninstalled "$T/an image"

finish
