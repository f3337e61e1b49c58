#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Hashing that is never in the way: kin pause and resume, -o rate.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

status() { # a line of kin status
	timeout 600 "$KIN" status "$mnt" | sed -n "s/^$1  *//p"
}

json() { # NAME: of the status
	timeout 600 "$KIN" status --json "$mnt" |
		perl -MJSON::PP -0777 -e '
			my $v = decode_json(<STDIN>)->{$ARGV[0]};
			print ref $v ? $$v : $v // "none", "\n"' "$1"
}

stalls() {
	[ "$(json stalled)" = 1 ]
}

write_files() { # PREFIX
	local i
	for i in {1..20}; do
		gen_text 20 "$i" >"$mnt/$1-$i"
	done
}

# Names of the daemon's, as sched_setscheduler(2) has it.
threads() { # POLICY
	cat "/proc/$(daemon_pid "$mnt")/task/"*/stat 2>/dev/null |
		awk -v policy="$1" '$41 == policy { print $2 }' | sort -u |
		tr -d '()'
}

# Beside the main one, those that serve requests, and one that looks at what
# others do on the filesystem: the timer, the loader, the committer, the scan, the
# reader of events, and one that has the kernel ask for names again.
few_threads() {
	[ "$(cat "/proc/$(daemon_pid "$mnt")/task/"*/comm 2>/dev/null |
		grep -cvxE "kinfs|kinfs-watch-bg")" -le 6 ]
}

# Threads inherit their class from the one that starts them.
test_threads() {
	local rests="kinfs-hash-idle|kinfs-watch-bg"
	gen_text 20 1 >"$mnt/first"
	getx "$mnt/first" user.sdhash >/dev/null
	ls "$mnt/.similar/first" >/dev/null
	is "$(threads 0 | grep -Ex "$rests")" "" \
		"what may rest is of the idle class"
	is "$(threads 5 | grep -Exv "$rests")" "" "and nothing else is"
	ok "an idle daemon has few threads" poll 120 few_threads
	is "$(getx "$mnt/first" user.xxh128)" \
		"$(xxhsum -H2 "$src/first" | cut -d' ' -f1)" \
		"and works when it is asked again"
	rm "$mnt/first"
}

test_pause() {
	ok "kin pause" "$KIN" pause "$mnt"
	is "$(json paused)" asked "the status says so"
	is "$(status paused)" "by kin pause, until kin resume" "and how to go on"
	ok "kin wait: nothing is left to do" timeout 600 "$KIN" wait "$mnt"
	write_files a
	ok "it stalls" poll 20 stalls
	like "$(status state)" waiting "the state is another one"
	is "$(state "$mnt/a-1")" pending "a file that is written stays pending"
	is "$(getx "$mnt/a-7" user.xxh128)" \
		"$(xxhsum -H2 "$src/a-7" | cut -d' ' -f1)" \
		"who reads a digest gets it all the same"
	is "$(state "$mnt/a-7")" fresh "and that file is done"
	is "$(state "$mnt/a-8")" pending "another one is not"
	refused "kin wait does not wait for ever" "paused by kin pause" \
		timeout 600 "$KIN" wait "$mnt"
	refused "nor with a timeout" "paused" \
		timeout 600 "$KIN" wait --timeout 1000 "$mnt"
}

test_resume() {
	ok "kin resume" "$KIN" resume "$mnt/a-1"
	is "$(json paused)" none "the status says so"
	ok "kin wait" timeout 600 "$KIN" wait "$mnt"
	is "$(state "$mnt/a-1")" fresh "what was left is hashed"
}

test_mistakes() {
	refused "kin pause without a mount" "which mount" "$KIN" pause
	refused "a directory that is no mount" "." "$KIN" pause "$T"
	refused "a word it does not know" "Invalid argument" \
		setfattr -n user.kinfs.control -v pauses "$mnt"
	like "$("$KIN" help)" "pause .*resume " "both are in the help"
}

test_other_user() {
	mount_kinfs "$T/other" "$T/there" -o allow_other
	chmod 755 "$T/other"
	refused "another user may not" "not permitted|Permission" \
		as_nobody setfattr -n user.kinfs.control -v pause "$T/there"
	ok "unmount" unmount "$T/there"
}

test_stop() {
	ok "paused again" "$KIN" pause "$mnt"
	write_files b
	ok "a paused daemon ends at once" unmount "$mnt"
	mount_kinfs "$src" "$mnt"
	is "$(json paused)" none "a new mount is not paused"
	ok "kin wait" timeout 600 "$KIN" wait "$mnt"
	is "$(state "$mnt/b-20")" fresh "and hashes what was left"
}

# Larger than what may be read before the limit is felt, in a minute at that.
test_rate() {
	mount_kinfs "$T/slow" "$T/slowly" -o rate=1
	head -c 60000000 /dev/urandom >"$T/slowly/large"
	head -c 60000001 /dev/urandom >"$T/slowly/larger"
	gen_text 20 1 >"$T/slowly/small"
	like "$("$KIN" status "$T/slowly")" "at most +1 MB/s" \
		"-o rate=1: the status says so"
	is "$(getx "$T/slowly/small" user.xxh128)" \
		"$(xxhsum -H2 "$T/slow/small" | cut -d' ' -f1)" \
		"a digest that is waited for does not come later"
	is "$(getx "$T/slowly/larger" user.xxh128)" \
		"$(xxhsum -H2 "$T/slow/larger" | cut -d' ' -f1)" \
		"nor that of a large file"
	is "$(state "$T/slowly/large")" pending "what is not takes its time"
	ok "the daemon ends at once" unmount "$T/slowly"
}

test_rate_mistakes() {
	local value
	for value in -1 x 1.5 2M ""; do
		refused "-o rate=$value" "megabytes a second" \
			timeout 600 "$KINFS" -f "$src" "$mnt" -o "rate=$value"
	done
}

mount_kinfs "$src" "$mnt"
ok "kin wait" timeout 600 "$KIN" wait "$mnt"
test_threads
test_pause
test_resume
test_mistakes
test_other_user
test_stop
test_rate
test_rate_mistakes
ok "unmount" unmount "$mnt"
finish
