#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The daemon publishes what changes, tells systemd, answers kin, and goes on
# when it, the mount or the server dies.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/helper/share.sh disable=SC1091
. tests/e2e/helper/share.sh

make_tree "$T/one" 1 30
make_tree "$T/two" 1 3
mount_kinfs "$T/one" "$T/m1" -o allow_other
mount_kinfs "$T/two" "$T/m2"
"$KIN" wait "$T/m1" 2>"$T/output"
"$KIN" wait "$T/m2" 2>"$T/output"
start_server a
"$KIN_SHARE" init --db "$(db a)" >"$T/output"
publish a "$T/m2" --label two

# ---- without a daemon ----

is "$(find "$T/m1/.similar/f0/.elsewhere/" -type l)" "" \
	"without a kin-share .elsewhere is empty"
is "$(getx "$T/m1/.similar/f0/.elsewhere" user.kinfs.state)" incomplete \
	"and says that this is not complete"
unlike "$("$KIN" status "$T/m1")" 'share' "kin status has no share"

# Something that listens in its place tells links without an end.
peak() { # KiB of the mount's daemon
	awk '$1 == "VmHWM:" { print $2 }' "/proc/$(daemon_pid "$T/m1")/status"
}
mkdir "$T/db-m1/share"
python3 - "$T/db-m1/share/socket" >"$T/flooded" 2>&1 <<'EOF' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
line = b'{"score": 90, "copies": [{"host": "h", "path": "/%s"}]}\n' % (b"p" * 99)
_, (fd, *_), _, _ = socket.recv_fds(s, 1 << 20, 1)
answer = socket.socket(fileno=fd)
try:
    while True:
        answer.sendall(line * 1000)
except BrokenPipeError:
    print("cut")
EOF
flood=$!
pids+=("$flood")
poll 10 test -S "$T/db-m1/share/socket"
before=$(peak)
is "$(getx "$T/m1/.similar/f0/.elsewhere" user.kinfs.state)" incomplete \
	"an answer without an end is not complete"
wait "$flood"
is "$(cat "$T/flooded")" cut "it is not read to its end"
ok "nor kept" [ "$(peak)" -lt $((before + 300000)) ]
rm -r "$T/db-m1/share"

# Read again for each connection, also when it is confined.
mkdir "$T/home"
printf '[kin]\nhost=%s\nuser=postgres\ndbname=postgres\npassfile=%s\n' \
	"$T/pg-a" "$T/passwords" >"$T/home/.pg_service.conf"
(umask 077 && echo '*:*:*:postgres:secret' >"$T/passwords")
share_pid=
start_share() { # of the first mount
	HOME=$T/home "$KIN_SHARE" --db service=kin --label one "$T/m1" \
		>>"$T/share.log" 2>&1 &
	share_pid=$!
	pids+=("$share_pid")
}
have_of_one() { published a | grep '^one|' | cut -d'|' -f2 | sort; }
is_published() { # what the database has is what the tree has
	[ "$(have_of_one)" = "$(find "$T/one" -type f -size +0 | sort)" ]
}

python3 - "$T/notify" >"$T/notified" 2>&1 <<'EOF' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)
EOF
pids+=($!)
poll 10 test -S "$T/notify"
NOTIFY_SOCKET=$T/notify start_share
ok "systemd is told when it is ready" poll 10 grep -qx READY=1 "$T/notified"
ok "everything is published" poll 20 is_published
ok "systemd is told that" \
	poll 10 grep -qx 'STATUS=everything is published' "$T/notified"

# ---- answers by the mount ----

is "$("$KIN" similar --json --everywhere "$T/m1/f0" | jq -r \
	'.totals.complete // empty, (.path // empty | select(startswith("two:")))')" \
	"two:$T/two/f0"$'\n'"two:$T/two/f0.v2"$'\n'true \
	"kin asks the daemon, which leaves its own host out"
is "$("$KIN" similar --json --everywhere "$T/m1/f0" | jq -r \
	'select(.path).path')" \
	"two:$T/two/f0"$'\n'"f0.v2"$'\n'"two:$T/two/f0.v2" \
	"hits are in order of their scores, wherever they are"
is "$("$KIN" similar -v --everywhere "$T/m1/f0" |
	awk '{ print NF - (NR == 1) }' | sort -u)" 14 "each has all columns"
like "$("$KIN" groups --everywhere "$T/m1")" "two:$T/two/f0" "groups, too"
for option in --limit=1 --include=f0 --exclude=f0 --threshold=50; do
	refused "groups of all hosts have no ${option%=*}" "exclude one another" \
		"$KIN" groups --everywhere "$option" "$T/m1"
done
like "$("$KIN" groups --everywhere "$T/m1")" '[0-9]+ groups?, [0-9]+ files' \
	"with totals"
ok "the other host hides its paths" publish a "$T/m2" --label two --no-paths
like "$("$KIN" similar --json --everywhere "$T/m1/f0")" 'two:\(not told\)' \
	"kin says that the path is not told"
ok "and shows them again" publish a "$T/m2" --label two
unlike "$("$KIN" similar --json "$T/m1/f0")" 'two:' \
	"without --everywhere there is nothing of others"
like "$("$KIN" status "$T/m1")" 'share +one: everything is published' \
	"kin status tells that"
is "$("$KIN" status --json "$T/m1" | jq -c '.share | [.current, .host]')" \
	'[true,"one"]' "also as JSON"

there=$T/m1/.similar/f0/.elsewhere
score=$("$KIN" compare -m sif "$T/one/f0" "$T/one/f0.v2" | cut -d' ' -f1)
is "$(ls -U "$there")" "100_two:f0"$'\n'"0${score}_two:f0.v2" \
	".elsewhere has names of other hosts, best first"
is "$(readlink "$there/100_two:f0")" "two:$T/two/f0" \
	"links tell the place"
not_ok "they lead nowhere here" test -e "$there/100_two:f0"
is "$(getx "$there" user.kinfs.state)" complete "the listing is complete"
unlike "$(ls -A "$T/m1/.similar/f0")" elsewhere "no listing shows the view"
not_ok "only the owner of the mount sees it" as_nobody ls "$there"
ok "who sees the others" as_nobody ls "$T/m1/.similar/f0"
is "$(find "$T/m1/.similar/f10/.elsewhere/" -type l)" "" \
	"a file that nobody has is alike to none"
refused "another kin-share of the same catalog" 'another kin-share' \
	publish a "$T/m1" --label other

# ---- requests that are none ----

is "$(grep -cE '^(NoNewPrivs:.1|CapEff:.0{16}|CapPrm:.0{16})$' \
	"/proc/$share_pid/status")" 3 "it has no capabilities, and gets none"
open_files() { find "/proc/$share_pid/fd" -type l | wc -l; }
before=$(open_files)
python3 - "$(catalog_of "$T/m1")/share" <<'EOF'
import array, os, random, socket, sys
os.chdir(sys.argv[1])
r = random.Random(1)
request = b'{"relation":"alike","size":1,"digests":{"xxh128":"00"}}'


def datagram(data, fds):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    control = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))]
    s.sendmsg([data], control if fds else [], 0, 'socket')


for i in range(200):
    line = bytearray(request)
    for _ in range(r.randrange(4)):
        line[r.randrange(len(line))] = r.randrange(256)
    ends = os.pipe()
    datagram(bytes(line), [ends[1]] * (i % 4))
    datagram(b'', [])
    os.close(ends[1])
    if i % 4 == 1:
        answer = b''
        while data := os.read(ends[0], 65536):
            answer += data
        assert answer.endswith(b'}\n') or not answer, answer
    os.close(ends[0])
for i in range(40):
    datagram(r.randbytes(r.randrange(300)), [])
EOF
is "$?" 0 "requests that are none are answered, or left out"
same_files() { [ "$(open_files)" -le $((before + 1)) ]; }
ok "no descriptor stays open" poll 20 same_files
like "$("$KIN" similar --json --everywhere "$T/m1/f0")" "two:$T/two/f0" \
	"those that are one are answered"

# ---- changes ----

echo new words >>"$T/m1/f1"
rm "$T/m1/f2"
mkdir "$T/m1/below"
mv "$T/m1/f3" "$T/m1/below/f3"
cp "$T/m1/f4" "$T/m1/below/copy"
mv "$T/m1/below" "$T/m1/elsewhere"
"$KIN" wait "$T/m1" 2>"$T/output"
ok "changes are published" poll 20 is_published
content=$(xxhsum -H2 "$T/one/f1" | cut -d' ' -f1)
has_content() { published a | tr -d - | grep -q "f1|$content|"; }
ok "with the new content" poll 20 has_content
dirty() { # how many changes are kept
	find "$(catalog_of "$T/m1")/share" -name ack -size +0
}
ok "what is published is acknowledged" poll 10 test -n "$(dirty)"

# ---- the server does not answer ----

server_pids="${pg_pid[a]} $(pgrep -P "${pg_pid[a]}")"
listing=$(ls -U "$T/m1/.similar/f0")
digests=$(getfattr -d "$T/m1/f0" 2>/dev/null)
# shellcheck disable=SC2086 # several
kill -STOP $server_pids
ls -U "$there" >"$T/hanging" 2>&1 &
hanging=$!
cp "$T/one/f6" "$T/m1/meanwhile"
is "$(ls -U "$T/m1/.similar/f0")" "$listing" \
	"while the server hangs, listings are as they were"
is "$(getfattr -d "$T/m1/f0" 2>/dev/null)" "$digests" "digests are, too"
ok "what is new is hashed" "$KIN" wait "$T/m1"
is "$(find "$T/m1/.similar/f6/" -name '100_*' | wc -l)" 1 "and found"
wait "$hanging"
is "$(cat "$T/hanging")" "" "the names elsewhere are left out after a while"
is "$(getx "$there" user.kinfs.state)" incomplete "and that is told"
# shellcheck disable=SC2086
kill -CONT $server_pids
rm "$T/m1/meanwhile"
"$KIN" wait "$T/m1" 2>"$T/output"
ok "when it goes on, so does kin-share" poll 90 is_published

# ---- the server dies ----

kill_server a
"$KIN" similar --json --everywhere "$T/m1/f0" >"$T/answer" 2>"$T/errors"
is "$?" 3 "without the server the answer is not complete"
is "$(jq -r '.path // .totals.complete' "$T/answer")" \
	"f0.v2"$'\n'"false" "but what the mount has is there"
like "$(cat "$T/errors")" 'elsewhere: ' "and the reason is told"
is "$(find "$there/" -type l):$(getx "$there" user.kinfs.state)" :incomplete \
	".elsewhere says that it is not complete"
for i in {1..20}; do
	cp "$T/one/f5" "$T/m1/late$i"
done
ok "the mount is as it was" "$KIN" wait "$T/m1"
is "$(find "$T/m1/.similar/f5/" -name "*late*" | wc -l)" 20 "listings are, too"
start_server a
ok "when the server is back, it is sent what it misses" poll 90 is_published

# ---- the daemon dies ----

for i in {1..10}; do
	kill -KILL "$share_pid"
	wait "$share_pid" 2>/dev/null
	echo "change $i" >>"$T/m1/f$((i + 6))"
	mv "$T/m1/late$i" "$T/m1/moved$i"
	start_share
	sleep "$(printf '0.%03d' $((i * 13)))"
done
"$KIN" wait "$T/m1" 2>"$T/output"
ok "killed ten times, it has published everything" poll 30 is_published
ok "check says so" poll 30 "$KIN_SHARE" check --db "$(db a)" "$T/m1"

# ---- the mount dies ----

kill -KILL "$(daemon_pid "$T/m1")"
wait "$(daemon_pid "$T/m1")" 2>/dev/null
umount -l "$T/m1"
rm "$T/one/f8"
mount_kinfs "$T/one" "$T/m1"
echo after >>"$T/m1/f9"
"$KIN" wait "$T/m1" 2>"$T/output"
ok "after a mount that was killed, it goes on with the new file" \
	poll 30 is_published
ok "check" poll 30 "$KIN_SHARE" check --db "$(db a)" "$T/m1"
ok "the catalog is in order" "$KIN" check "$T/m1"

# ---- a catalog that goes ----

cp -a "$(catalog_of "$T/m2")" "$T/gone"
rm -r "$T/gone/share"
"$KIN_SHARE" --db "$(db a)" --label pair "$T/gone" "$T/m2" \
	2>"$T/pair.log" &
pair=$!
pids+=("$pair")
have_of_pair() { published a | grep -c '^pair|'; }
all_of_pair() { [ "$(have_of_pair)" = "$1" ]; }
files=$(find "$T/two" -type f | wc -l)
ok "two catalogs are published" poll 20 all_of_pair $((2 * files))
mv "$T/gone" "$T/away"
ok "one of which goes" poll 20 grep -q 'its directory is gone' "$T/pair.log"
for i in 1 2 3; do
	cp "$T/two/f1" "$T/m2/more$i"
	ok "the other is published, change $i" \
		poll 20 all_of_pair $((2 * files + i))
done
is "$(wc -l <"$T/pair.log")" 1 "that one is gone was told once"
kill -TERM "$pair"
wait "$pair"

# ---- the end ----

kill -TERM "$share_pid"
wait "$share_pid"
is "$?" 0 "it ends when it is told to"
stop_servers
finish
