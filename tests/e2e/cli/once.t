#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A question about a directory that is in no mount: it is mounted for that time,
# and unmounted however the question ends.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
share_programs
open_fuse_to_all

home=$T/home
pics=$home/Pictures
state=$home/.local/state/kinfs

user() { # COMMAND...: as a user that has nothing but a home
	as_nobody env -u XDG_STATE_HOME -u XDG_RUNTIME_DIR HOME="$home" \
		PATH="$T/bin:$PATH" "$@"
}

kin() { # ARGUMENTS...: exit code in $code, output in $T/out, $T/err
	code=0
	user timeout 600 kin "$@" >"$T/out" 2>"$T/err" || code=$?
}

nothing_mounted() {
	! grep -q "fuse.kinfs" /proc/self/mounts
}

is_mounted() {
	! nothing_mounted
}

processes() { # NAME: of this test
	local pid
	for pid in $(pgrep -u 65534 -x "$1"); do
		grep -qF "$T/" "/proc/$pid/cmdline" 2>/dev/null && echo "$pid"
	done
}

no_process() {
	[ -z "$(processes kin)$(processes kinfs)" ]
}

mkdir -p "$pics/sub"
gen_text 200 1 | tee "$pics/a" >"$pics/sub/copy of a"
edit_text 5 2 <"$pics/a" >"$pics/version"
gen_text 200 3 >"$pics/other"
cp "$pics/a" "$home/x"
mkdir "$home/archive" "$home/plain"
cp "$pics/other" "$home/archive/renamed"
echo text >"$home/plain/file"
chown -R 65534:65534 "$home"
chmod a-w "$pics" "$pics/sub"

test_answers() {
	kin groups "$pics"
	is "$code $(cat "$T/err")" "0 " "kin groups of a directory in no mount"
	like "$(cat "$T/out")" "100 .* $pics/a.*= .* $pics/sub/copy of a" \
		"the paths are those of the directory"
	ok "nothing is mounted any more" nothing_mounted
	ok "no process is left" poll 20 no_process
	ok "the catalog is where that of a mount would be" \
		test -s "$state"/Pictures-*/data.mdb
	kin groups --json "$pics"
	is "$(jq -r '.root // empty' "$T/out")" "$pics" "--json names it, too"
	(cd "$pics" && kin groups --exact --keep sub .)
	like "$(cat "$T/out")" "keep +sub/copy of a" \
		"options name directories of it, and paths may be relative"
	kin groups "$pics/sub"
	is "$code $(tail -n 1 "$T/out")" \
		"0 0 groups, 0 files: 0 in exact copies, 0 in near copies" \
		"a directory in it is asked by itself"
	kin similar --of "$home/x" "$pics"
	like "$(cat "$T/out")" "100 +copy .* $pics/a" "kin similar --of"
	kin similar -v --of "$home/x" "$pics"
	like "$(cat "$T/out")" "version +[0-9]+ +bytes +[0-9.KM]+ +[0-9]+ " \
		"... with all measures"
	kin missing "$pics" "$home/archive"
	is "$code $(sed -n 's#.*/##p' "$T/out" | sort | tr '\n' ' ')" \
		"0 a copy of a version " "kin missing of two"
	kin export --plain "$pics"
	is "$code $(grep -c '"members"' "$T/out")" "0 3" "kin export"
	kin report "$pics" -o "$home/page.html"
	is "$code" 0 "kin report"
	ok "... is written" test -s "$home/page.html"
	ok "nothing is mounted any more" nothing_mounted
}

test_dedup() {
	chmod u+w "$pics" "$pics/sub"
	kin dedup "$pics"
	like "$(cat "$T/out")" "1 file would be replaced" "kin dedup"
	kin dedup "$pics" --apply
	is "$code" 0 "... --apply"
	ok "... acts on the files of the directory" \
		test "$pics/a" -ef "$pics/sub/copy of a"
	kin dedup --undo "$state"/dedup/*.journal
	not_ok "... and takes it back" test "$pics/a" -ef "$pics/sub/copy of a"
}

# What cannot be read is not passed over in silence.
test_unreadable() {
	user chmod 000 "$pics/other"
	kin groups "$pics"
	is "$code" 3 "a file that cannot be read: exit status 3"
	like "$(cat "$T/err")" "1 file could not be hashed" "... and is told of"
	user chmod 644 "$pics/other"
}

# A question is stopped while nobody reads its answer.
ask_slowly() {
	[ -p "$home/pipe" ] || mkfifo -m 666 "$home/pipe"
	exec 7<>"$home/pipe"
	user kin export --plain "$home/big" >"$home/pipe" 7<&- &
	poll 60 is_mounted || bail "it is mounted"
	asker=$(pgrep -P $! -x kin)
	keeper=$(pgrep -P "$asker" -x kin)
}

stop_asking() { # SIGNAL PID...
	kill -"$1" "${@:2}"
	wait
	exec 7<&-
}

test_ends() {
	local signal
	mkdir "$home/big"
	for ((i = 0; i < 400; i++)); do echo "big/$i 40:$i"; done |
		(cd "$home" && gen_files)
	chown -R 65534:65534 "$home/big"
	for signal in HUP TERM KILL; do
		ask_slowly
		stop_asking "$signal" "$asker"
		ok "after SIG$signal nothing is mounted" poll 20 nothing_mounted
		ok "... and no process is left" poll 20 no_process
	done
	ask_slowly
	stop_asking KILL "$keeper" "$asker"
	ok "nor after all of kin was killed" poll 20 nothing_mounted
	user bash -c "kin export --plain '$home/big' | head -n 1" >"$T/out"
	ok "after its reader has gone nothing is mounted" \
		poll 20 nothing_mounted
}

# The second one uses what the first one mounted, and keeps it.
test_two() {
	ask_slowly
	kin groups --exact "$home/big"
	is "$code" 0 "a second question while the first one is not done"
	ok "the first one's mount is still there" is_mounted
	stop_asking KILL "$asker"
	ok "the last one unmounts" poll 20 nothing_mounted
	user sh -c "kin groups '$pics' >'$home/1' & kin groups '$pics' >'$home/2'
		wait"
	ok "two at once" cmp "$home/1" "$home/2"
	ok "nothing is mounted then" poll 20 nothing_mounted
}

# A daemon that has the directory or one above it as SOURCE is asked.
test_source() {
	mkdir "$home/kin" && chown 65534 "$home/kin"
	user "$KINFS" "$pics" "$home/kin"
	user kin wait "$home/kin" >/dev/null
	kin groups "$pics"
	like "$(cat "$T/out")" "100 .* $pics/a.*= .* $pics/sub/copy of a" \
		"SOURCE of a mount is asked by its mount"
	is "$(grep -c fuse.kinfs /proc/self/mounts)" 1 "... which stays"
	kin similar "$pics/sub/copy of a"
	like "$(cat "$T/out")" "100 +copy .* $pics/a" \
		"a file in it, too"
	kin status "$pics/sub"
	like "$(cat "$T/out")" "source +$pics" "kin status of it"
	kin strip --dry-run "$pics"
	is "$code" 0 "kin strip acts on the files of SOURCE itself"
	user fusermount3 -u "$home/kin"
}

# A catalog that was made for questions is kept until it is forgotten, or nobody
# has asked for long.
test_kept() {
	local catalog

	kin groups "$home/plain"
	kin status
	like "$(cat "$T/out")" "kept +[0-9.KM]+ +20..-..-.. +$home/plain" \
		"kin status lists the directory"
	kin status --json
	is "$(jq -r 'select(.state == "kept") | .path' "$T/out" |
		grep -c "^$home/plain$")" 1 "... --json, too"
	kin forget "$home/plain"
	is "$code $(find "$state" -name "*plain*" | wc -l)" "0 0" "kin forget"
	kin forget "$home/plain"
	like "$code $(cat "$T/err")" "1 .*no catalog" "... once"

	kin groups "$home/plain"
	kin groups "$home/archive"
	catalog=$(echo "$state"/plain-*)
	echo "# remark" >"$catalog/ignored"
	chown 65534 "$catalog/ignored"
	mkdir "$home/mounted" && chown 65534 "$home/mounted"
	user "$KINFS" "$home/mounted" "$home/kin"
	kin forget "$home/mounted"
	like "$code $(cat "$T/err")" "1 .*mounted on $home/kin" \
		"the catalog of a mount is not removed"
	user fusermount3 -u "$home/kin"
	poll 20 no_process
	kin groups "$home/mounted"
	user touch -d '91 days ago' "$catalog"/* "$state"/mounted-*/*
	kin groups "$home/archive"
	is "$(ls "$catalog")" "ignored" \
		"after 90 days it goes, but pairs that are ignored"
	ok "one that was asked lately stays" \
		test -s "$state"/archive-*/data.mdb
	ok "... and one that was made by a mount" \
		test -s "$state"/mounted-*/data.mdb
}

test_refusals() {
	kin groups "$pics/a"
	like "$code $(cat "$T/err")" "1 .*Pictures/a: not in a kinfs mount, and not a directory" \
		"a file is not asked"
	kin groups "$home"
	like "$code $(cat "$T/err")" "1 .*its catalog, .*, would be in it" \
		"nor a directory that has the catalog"
	kin groups "$home/none"
	like "$code $(cat "$T/err")" "1 .*/none: No such file" "nor none"
	mv "$T/bin/kinfs" "$T/bin/kinfs-away"
	code=0
	as_nobody env HOME="$home" PATH=/nowhere "$T/bin/kin" groups "$pics" \
		>"$T/out" 2>"$T/err" || code=$?
	like "$code $(cat "$T/err")" "^1 kinfs: No such file .*install" \
		"one sentence where kinfs is not installed"
	is "$(wc -l <"$T/err")" 1 "... and no more"
	mv "$T/bin/kinfs-away" "$T/bin/kinfs"
}

# Another user can plant nothing where the mount will be.
test_planted() {
	rm -rf "$state"
	mkdir -p "$home/shared/kinfs" && chmod 777 "$home/shared/kinfs"
	chown 65534 "$home/shared/kinfs" "$home/shared"
	code=0
	user env XDG_STATE_HOME="$home/shared" kin groups "$home/plain" \
		>"$T/out" 2>"$T/err" || code=$?
	like "$code $(cat "$T/err")" "^1 .*others can write" \
		"a state directory that others can write to is refused"
}

test_answers
test_dedup
test_unreadable
test_ends
test_two
test_source
test_kept
test_refusals
test_planted
finish
