#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A user who opens as much as possible leaves descriptors of the daemon to others.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

mnt=$T/mnt
export most=400 # more than one user may have, less than a process may

# Opens a file or directory again and again, says how often that was possible, and
# keeps all open until it is told to end.
open_many() { # UID PATH
	setpriv --reuid="$1" --regid="$1" --clear-groups bash -c '
		n=0
		while [ "$n" -lt "$most" ] && exec {fd}<"$1"; do
			n=$((n + 1))
		done 2>"$2"
		echo "$n"
		read -r _' - "$2" "$T/said-$1"
}

begin() { # UID PATH: sets $opened and $holder
	touch "$T/said-$1" && chmod 666 "$T/said-$1"
	coproc opener { open_many "$1" "$2"; }
	holder=$!
	read -r opened <&"${opener[0]}"
}

end() {
	echo >&"${opener[1]}"
	wait "$holder"
}

# Few descriptors, and no right to have more.
program=$KINFS
cat >"$T/few" <<-EOF
	#!/bin/bash
	ulimit -n 1024
	exec setpriv --bounding-set -sys_resource "$program" "\$@"
EOF
chmod 755 "$T/few" "$T"
mkdir "$T/source"
echo content >"$T/source/file"
KINFS=$T/few mount_kinfs "$T/source" "$mnt" -o allow_other
for path in "$mnt" "$mnt/file" "$mnt/.similar" "$mnt/.similar/.query"; do
	begin 70002 "$path"
	between "$opened" 100 300 "a user may open ${path##*/} so often"
	like "$(<"$T/said-70002")" "Too many open files" "and is told why"
	is "$(as 70001 none cat "$mnt/file")" content "another user reads"
	is "$(cat "$mnt/file" && ls "$mnt")" $'content\nfile' "root does"
	end
done
begin 70002 "$mnt/file"
between "$opened" 100 300 "what was closed can be opened again"
end
ok "unmount" unmount "$mnt"
finish
