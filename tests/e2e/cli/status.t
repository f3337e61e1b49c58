#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin status and kin wait tell of files that could not be hashed, or are not
# to be hashed.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh
private_namespace
share_programs

home=$T/home
src=$home/Documents
mnt=$home/kin

user() { # COMMAND...: as a user that has nothing but a home
	as_nobody env -u XDG_STATE_HOME -u XDG_RUNTIME_DIR HOME="$home" "$@"
}

kin() { # RUNNER ARGUMENTS...: exit code in $code, output in $T/out, $T/err
	code=0
	"$1" timeout 600 "$KIN" "${@:2}" >"$T/out" 2>"$T/err" || code=$?
}

make_home() {
	mkdir -p "$src/sub/closed" "$mnt"
	gen_text 100 1 >"$src/a"
	gen_text 100 2 >"$src/sub/secret"
	gen_text 100 3 >"$src/sub/closed/inside"
	gen_text 100 4 >"$src/sub/x.o"
	echo name >"$src/line
break.o"
	chown -R 65534:65534 "$home"
	chmod 000 "$src/sub/secret" "$src/sub/closed"
}

# "STATE PATH" of what kin printed, below the mount
listed() {
	sed -n "s#^\([^ ]*\)  *$mnt/#\1 #p" "$T/out" | sort
}

json() { # PROGRAM: what it prints of the items @i and the totals $t
	perl -MJSON::PP -e 'my @i = map { decode_json $_ } <STDIN>;
		my $t = (pop @i)->{totals};'"$1" <"$T/out"
}

test_failed() {
	kin user wait "$mnt"
	is "$code" 3 "kin wait: exit status 3 when a file could not be hashed"
	like "$(cat "$T/err")" "1 file could not be hashed" "and says so"
	unlike "$(cat "$T/out")" "0 of 0" \
		"no percentage of nothing comes first"
	kin user status "$mnt"
	is "$code" 0 "kin status"
	unlike "$(cat "$T/out")" "up to date" \
		"not all digests are up to date"
	like "$(cat "$T/out")" "state +idle, but 1 file could not be hashed" \
		"kin status says that files could not be hashed"
	like "$(cat "$T/out")" "hashed +1 file, .* since it was mounted" \
		"the seconds are the age of the mount"
}

test_lists() {
	kin user status --failed "$mnt"
	is "$code $(listed)" "0 error:EACCES sub/closed
error:EACCES sub/secret" "--failed lists what cannot be read"
	kin user status --skipped "$mnt/sub"
	is "$code $(listed)" "0 skipped:exclude sub/x.o" \
		"--skipped, below a directory"
	kin user status --failed --skipped --json "$mnt"
	is "$code" 0 "both with --json"
	is "$(json 'print $t->{complete} ? "complete" : "not", " ",
		join " ", sort map { $_->{path} =~ s#.*/##sr } @i')" \
		"complete closed line
break.o secret x.o" "lists all of them"
	kin user status --failed "$mnt/a"
	is "$code $(cat "$T/out" "$T/err")" "0 " "of one file"
	kin user pause "$mnt"
	user cp "$mnt/a" "$mnt/new"
	kin user status --failed "$mnt"
	is "$code" 3 "exit status 3 while files are to be hashed"
	like "$(cat "$T/err")" "1 file is not hashed yet" "and says so"
	kin user resume "$mnt"
}

# A file that could not be read may be a copy of any other.
test_groups() {
	local command

	for command in groups "export --plain" "report -o $home/report.html" \
		"missing --exact $mnt"; do
		# shellcheck disable=SC2086 # a command and its options
		kin user $command "$mnt"
		is "$code" 3 "kin ${command%% *}: exit status 3 when a file could not be hashed"
		like "$(cat "$T/err")" "not complete" "and says so"
	done
	kin user groups --exact --json "$mnt"
	is "$code $(jq -r '.totals.reason // empty' "$T/out")" "3 incomplete" \
		"kin groups --json"
}

# Whoever asks hears only of files that he may read.
test_others() {
	chmod -R u+rwX "$src"
	chown -R 0:0 "$src"
	chmod 755 "$home"
	chmod 600 "$src/sub/x.o"
	mkdir "$T/mnt"
	mount_kinfs "$src" "$T/mnt" -o 'allow_other,similar=show,exclude=*.o'
	wait_idle "$T/mnt"
	mnt=$T/mnt
	kin env status --skipped "$T/mnt"
	is "$(grep -c skipped:exclude "$T/out")" 2 "root sees all"
	kin user status --skipped "$T/mnt"
	is "$(grep -c skipped:exclude "$T/out")" 1 \
		"another user only what it may read"
	is "$(cat "$T/err")" "" "and is told of nothing else"
	kin env pause "$T/mnt"
	cp "$T/mnt/a" "$T/mnt/new"
	kin user wait --timeout 0 "$T/mnt"
	like "$(cat "$T/out")" '^[0-9]+ %' \
		"kin wait shows progress to a user who is told no numbers"
	kin env resume "$T/mnt"
}

# What kin status counts, --skipped lists.
test_skipped() {
	local src=$T/skipped-src mnt=$T/skipped

	mkdir -p "$src/build/deep" "$src/disk" "$src/sub" "$mnt"
	mount -t tmpfs tmpfs "$src/disk" || bail "a filesystem below"
	gen_text 100 6 | tee "$src/a" "$src/x.o" "$src/sub/x.o" \
		"$src/build/b" "$src/build/deep/c" "$src/disk/d" \
		>"$src/disk/e"
	: >"$src/empty"
	mount_kinfs "$src" "$mnt" -o 'exclude=*.o,exclude=build,min_size=1'
	wait_idle "$mnt"
	kin env status --skipped "$mnt"
	is "$(listed)" "skipped:cross disk
skipped:exclude build
skipped:exclude sub/x.o
skipped:exclude x.o
skipped:min_size empty" "--skipped: a directory stands for all in it"
	kin env status "$mnt"
	like "$(cat "$T/out")" "files +1: 1 fresh.* 5 skipped" \
		"... and kin status has their number"
	kin env status --skipped "$mnt/build/deep"
	is "$(listed)" "skipped:exclude build/deep" "... and below one"
	is "$(state "$mnt/build") $(state "$mnt/sub")" "skipped:exclude " \
		"the state of directories"
	unmount "$mnt"
	umount "$src/disk"
}

# A catalog of millions of files takes a while to read.
test_reading() {
	local held=$T/held library=$T/hold_catalog.so db=$T/reading-db

	"$CC" -D_GNU_SOURCE -shared -fPIC -o "$library" \
		"$HELPERS/hold_catalog.c" -ldl ||
		bail "a library that holds the catalog" "it does not compile"
	mkdir "$T/reading" "$T/reading-src"
	gen_text 100 5 >"$T/reading-src/a"
	mount_kinfs "$T/reading-src" "$T/reading" -o "db=$db"
	wait_idle "$T/reading"
	unmount "$T/reading"
	: >"$held"
	HELD_BY=$held LD_PRELOAD=$library \
		ASAN_OPTIONS=verify_asan_link_order=0 \
		mount_kinfs "$T/reading-src" "$T/reading" -o "db=$db"
	kin env status "$T/reading"
	like "$(cat "$T/out")" 'state +reading the catalog' \
		"kin status says that the catalog is being read"
	unlike "$(cat "$T/out")" 'files +0' "and not that there are no files"
	kin env wait --timeout 0 "$T/reading"
	like "$(cat "$T/out")" 'reading the catalog' "so does kin wait"
	rm "$held"
	wait_idle "$T/reading"
	kin env status "$T/reading"
	like "$(cat "$T/out")" 'files +1: 1 fresh' "then it knows the files"
	unmount "$T/reading"
}

# Minutes of hashing, though there is nothing to read.
test_hole() {
	mkdir "$T/hole-src" "$T/hole"
	if ! truncate -s 15T "$T/hole-src/image"; then
		skip "a hole of 15 TiB" "the filesystem has no such files"
		return
	fi
	mount_kinfs "$T/hole-src" "$T/hole"
	says_longest() {
		kin env status "$T/hole"
		grep -qE '^longest +1[0-9.]+T of 15T left of image; .*max_size' \
			"$T/out"
	}
	ok "a file that is read for long is named, and the way out" \
		poll 20 says_longest
	unmount "$T/hole"
	# Of such a path the status, which is an attribute, has no room.
	rm "$T/hole-src/image"
	perl -e 'chdir shift; for (1 .. 300) { mkdir "D" x 250; chdir "D" x 250 }
		open my $image, ">", "image"; truncate $image, 15 << 40' \
		"$T/hole-src"
	mount_kinfs "$T/hole-src" "$T/hole"
	says_deepest() {
		kin env status "$T/hole"
		grep -qE '^longest .* left of \.\.\./D.*/image; ' "$T/out"
	}
	ok "also one whose path is longer than an attribute" \
		poll 20 says_deepest
	unmount "$T/hole"
}

# A daemon that does not answer keeps nobody from the others, and one that may
# not be asked is not dead.
test_list() {
	local pid

	mkdir -p "$T/mine" "$T/stopped"
	mount_kinfs "$T/skipped-src" "$T/mine"
	mount_kinfs "$T/skipped-src" "$T/stopped"
	wait_idle "$T/mine"
	pid=$(daemon_pid "$T/stopped")
	kill -STOP "$pid"
	kin env status
	like "$code $(cat "$T/out")" "^0 .*no-answer .* $T/stopped" \
		"a daemon that does not answer is told of"
	like "$(cat "$T/out")" \
		"idle .* $(daemon_pid "$T/mine") +[0-9.]+M +[0-9]+  $T/mine" \
		"others are, with process, memory and processor time"
	kin user status
	like "$(cat "$T/out")" "not-accessible .* $T/mine" \
		"what a user may not enter is not accessible"
	kill -CONT "$pid"
	kin env status "$T/mine"
	like "$(cat "$T/out")" "process +$(daemon_pid "$T/mine"), [0-9.]+M of memory, [0-9]+ s" \
		"kin status of one tells of its process"
}

open_fuse_to_all
make_home
user timeout 600 "$KINFS" -o 'exclude=*.o' "$src" "$mnt" || bail "mount"
test_failed
test_lists
test_groups
poll 10 user fusermount3 -u "$mnt"
test_others
test_skipped
test_reading
test_hole
test_list
finish
