#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kinfs as a service of systemd: what it tells the service manager, and the
# unit.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
mkdir "$src" "$mnt"
gen_text 100 1 >"$src/a"
cp "$src/a" "$src/b"

# In the place of the service manager: writes what comes, a line each.
python3 - "$T/notify" >"$T/told" 2>"$T/python" <<'EOF' &
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
text = ''
while 'STOPPING=1' not in text:
	text = s.recv(65536).decode()
	print(text, flush=True)
EOF
listener=$!
ok 'a manager listens' poll 60 test -S "$T/notify"

told() { # LINE
	grep -qxE -- "$1" "$T/told"
}

NOTIFY_SOCKET=$T/notify timeout 600 "$KINFS" -f "$src" "$mnt" \
	-o db="$T/db" 2>"$T/log" &
daemon=$!
ok 'READY=1 comes' poll 60 told READY=1
ok '... when it is mounted' mounted "$mnt"
ok '... and where' told "STATUS=$mnt is mounted"
is "$(head -n 1 "$T/told")" READY=1 'nothing came before READY=1'
umount "$mnt"
wait "$daemon"
is $? 0 'it ends well when it is unmounted'
wait "$listener"
is "$(tail -n 1 "$T/told")" STOPPING=1 'STOPPING=1 is the last word'

# ---- the unit ----

unit=scripts/systemd/kinfs@.service
ok 'each program that the unit names is one that make install makes, or FUSE' \
	test "$(grep -oE '/usr/bin/[a-z0-9]+' "$unit" | sort -u | tr '\n' ' ')" \
	= '/usr/bin/fusermount3 /usr/bin/kinfs '
if command -v systemd-analyze >/dev/null; then
	mkdir -p "$T/units"
	sed "s|/usr/bin/kinfs |$KINFS |; /^Documentation=/d" "$unit" >"$T/units/kinfs@.service"
	is "$(systemd-analyze verify "$T/units/kinfs@.service" 2>&1 |
		grep -F kinfs@)" '' 'systemd finds nothing wrong with it'
fi

# The command line of the unit, as systemd would put it together.
cat >"$T/conf" <<-CONF
	SOURCE=$src
	MOUNTPOINT=$mnt
	OPTIONS=db=$T/db
CONF
(
	# shellcheck source=/dev/null
	. "$T/conf"
	eval "exec timeout 600 $(sed -n 's/^ExecStart=//p' "$unit" |
		sed "s|/usr/bin/kinfs|'$KINFS'|")"
) 2>>"$T/log" &
daemon=$!
ok 'its command line mounts' poll 60 mounted "$mnt"
"$KIN" pause "$mnt"
gen_text 100 2 >"$mnt/written"
kill -TERM "$daemon"
wait "$daemon"
is $? 0 'SIGTERM ends it well'
not_ok '... and the mount' mounted "$mnt"
is "$(cat "$src/written")" "$(gen_text 100 2)" '... with all that was written'

# ---- the journal ----

# Standard error is a socket of the service manager, named by JOURNAL_STREAM.
journal() { # COMMAND...: its standard error, if that is the journal
	perl -MSocket -MFcntl=F_SETFD -e '
		socketpair(my $own, my $its, AF_UNIX, SOCK_STREAM, 0) or die;
		my $pid = fork();
		if (!$pid) {
			my ($device, $inode) = stat $its;
			$ENV{JOURNAL_STREAM} = "$device:$inode";
			open STDERR, ">&", $its or die;
			exec @ARGV;
		}
		close $its;
		print while <$own>;' -- "$@"
}

mkdir "$src/.similar"
is "$(journal "$KINFS" -f "$src" "$mnt" -o frobnicate)" \
	"<3>kinfs: option 'frobnicate': unknown; see 'kinfs -o help'" \
	'the journal is told the priority of an error'
journal timeout 600 "$KINFS" -f "$src" "$mnt" -o db="$T/db" >"$T/journal" &
ok 'a mount with a warning' poll 60 mounted "$mnt"
umount "$mnt"
wait "$!"
like "$(cat "$T/journal")" '^<4>kinfs: .*similar_name' '... and of a warning'
like "$(JOURNAL_STREAM=1:2 "$KINFS" -f "$src" "$mnt" -o frobnicate 2>&1)" ^kinfs: \
	'standard error that is not the journal has none'

finish
