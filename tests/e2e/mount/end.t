#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The daemon ends at once, whatever waits: requests for attributes and listings
# of files that are hashed or queued, for a text that is made, for an answer of
# kin-share.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

# As a kin-share that never answers: takes the query, says so, and keeps the
# descriptor.
silent_share() { # SOCKET ASKED
	python3 - "$@" <<'EOF' &
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
got = socket.recv_fds(s, 65536, 4)
open(sys.argv[2], "w").close()
time.sleep(600)
EOF
	pids+=("$!")
}

waiting() { # COUNT: requests that wait
	[ "$(status_field "$mnt" waiting)" -ge "$1" ]
}

wait_for() { # COMMAND...: in the background, until the daemon ends
	"$@" >/dev/null 2>&1 &
	pids+=("$!")
}

ends() { # HOW COMMAND...: 2 seconds of a quiet machine
	local pid=${pid_of[$mnt]} name=$1
	shift
	"$@"
	ok "the daemon ends $name" poll 2 gone "$pid"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	umount -l "$mnt" 2>/dev/null
}

mkdir -p "$src" "$T/db"
gen_text 100 1 >"$src/doc"
for i in 1 2 3; do
	truncate -s 3T "$src/large$i"
done
for how in "kill -TERM" "umount -l" "fusermount3 -uz"; do
	mount_kinfs "$src" "$mnt" -o "db=$T/db,workers=1,text=no"
	for i in 1 2 3; do
		wait_for ls "$mnt/.similar/large$i"
		wait_for getfattr -n user.xxh128 "$mnt/large$i"
	done
	wait_for getfattr -n user.sha256 "$mnt/large1"
	ok "listings and attributes of large files wait" poll 20 waiting 6
	if [ "$how" = "kill -TERM" ]; then
		ends "while they wait" kill -TERM "${pid_of[$mnt]}"
	else
		# shellcheck disable=SC2086 # words
		ends "after $how" $how "$mnt"
	fi
done

# A process that does not wait keeps the mount.
mount_kinfs "$src" "$mnt" -o "db=$T/db,workers=1,text=no"
pid=${pid_of[$mnt]}
exec {kept}<>"$mnt/kept" {query}<>"$mnt/.similar/.query"
ok "unmount a mount with open files lazily" umount -l "$mnt"
echo '{"relation": "changes"}' >&"$query"
like "$(timeout 60 cat <&"$query")" '"end":true' "a watch ends"
echo content >&"$kept"
is "$(<"$src/kept")" content "an open file can be written"
ok "the daemon serves it" kill -0 "$pid"
exec {kept}>&- {query}>&-
ok "and ends when it is closed" poll 2 gone "$pid"
rm "$src"/large*

mount_kinfs "$src" "$mnt" -o "db=$T/db"
wait_idle "$mnt"
mkdir -p "$T/db/share"
silent_share "$T/db/share/socket" "$T/asked"
ok "kin-share is there" poll 20 test -S "$T/db/share/socket"
wait_for ls "$mnt/.similar/doc/.elsewhere"
ok "a listing of other hosts waits" poll 20 test -e "$T/asked"
ends "while kin-share is asked" kill -TERM "${pid_of[$mnt]}"

python3 "$HELPERS/slow_pdf.py" >"$src/slow.pdf"
mount_kinfs "$src" "$mnt" -o "db=$T/db"
ok "the document is hashed" getfattr -n user.xxh128 "$mnt/slow.pdf"
for i in 1 2; do
	wait_for ls "$mnt/.similar/slow.pdf/.all"
done
ok "listings of a slow document wait" poll 20 waiting 1
ends "while its text is made" kill -TERM "${pid_of[$mnt]}"
finish
