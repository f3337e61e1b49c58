#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What cannot be looked at hides nothing beside it, is not taken for removed, and
# is told by every command that would else be complete.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

disk=$T/disk # what SOURCE would have
src=$T/src
mnt=$T/mnt

fail() { # WORDS...: of helper/faulty.c; none: all works
	{ [ $# -eq 0 ] || printf '%s,' "$@"; } >"$T/faults.new"
	mv "$T/faults.new" "$T/faults"
}

make_tree() {
	local file n=0
	mkdir -p "$disk/d/below" "$disk/many" "$src" "$mnt"
	for file in {,d/,d/below/}{a,b,c} many/{1..10}; do
		gen_text 20 $((++n)) >"$disk/$file"
	done
	cp "$disk/a" "$disk/copy"
}
files=20

code_of() { # COMMAND...: exit code in $code, output in $T/out and $T/err
	code=0
	timeout 600 "$@" >"$T/out" 2>"$T/err" || code=$?
}

failed_of() { # MOUNTPOINT [COMMAND...]: what status --failed lists, below it
	"${@:2}" "$KIN" status --failed "$1" | sed "1d; s,$1/,," | sort
}

listed() { # DIRECTORY
	timeout 600 ls "$1"
}

# All commands say that so many could not be looked at, or that there is none.
told() { # COUNT WHAT
	local code want=0 complete=true command
	[ "$1" -eq 0 ] || want=3 complete=false
	is "$(status_field "$mnt" unread)" "$1" "$2: status counts"
	code_of "$KIN" wait --json "$mnt"
	is "$code" "$want" "$2: kin wait"
	like "$(tail -n 1 "$T/out")" "\"unread\": $1,.*\"complete\": $complete" \
		"$2: and its totals"
	for command in "groups --json" "export --plain"; do
		# shellcheck disable=SC2086 # its options
		code_of "$KIN" $command "$mnt"
		is "$code" "$want" "$2: kin $command"
		like "$(tail -n 1 "$T/out")" \
			"\"failed\": ?$1,.*\"complete\": ?$complete" \
			"$2: and its totals"
		[ "$want" = 0 ] || like "$(cat "$T/err")" \
			"$1 files? could not be hashed or looked at" \
			"$2: and so many"
	done
	cp "$T/out" "$T/export"
	code_of "$KIN" missing --json "$T/export" "$T/empty.mnt"
	is "$code" "$want" "$2: kin missing"
	like "$(tail -n 1 "$T/out")" "\"failed\": $1,.*\"complete\": $complete" \
		"$2: and its totals"
	code_of "$KIN" report -o "$T/report.html" "$mnt"
	is "$code" "$want" "$2: kin report"
	code_of "$KIN" dedup "$mnt"
	[ "$want" = 0 ] || like "$(cat "$T/err")" \
		"$1 files? could not be hashed or looked at" "$2: kin dedup"
	if [ "$want" = 0 ]; then
		like "$("$KIN" status "$mnt")" "all digests are up to date" \
			"$2: all is done"
	else
		unlike "$("$KIN" status "$mnt")" "all digests are up to date" \
			"$2: not all is done"
	fi
}

# What was known is not hashed again, but for MOST files, whose numbers are new
# when a filesystem has forgotten them; and nothing is left of the error.
recovers() { # WHAT MOST
	local hashed
	hashed=$(status_field "$mnt" hashed.files)
	fail
	rescan "$mnt"
	between "$(status_field "$mnt" hashed.files)" "$hashed" \
		$((hashed + $2)) "$1: what was known is not hashed again"
	is "$(status_field "$mnt" unread) $(status_field "$mnt" fresh)" \
		"0 $files" "$1: all is known after that"
}

test_entries() {
	fail stat-b stat-below
	mount_kinfs "$src" "$mnt" -o wait=20
	wait_idle "$mnt"
	is "$(status_field "$mnt" fresh)" $((files - 5)) \
		"entries: all others are hashed"
	is "$(state "$mnt/d/a")" fresh "entries: a neighbour is fresh"
	is "$(listed "$mnt/.similar/a")" "100_copy" \
		"entries: and has its listing"
	is "$(failed_of "$mnt")" \
		"error:EIO  b
error:EIO  d/b
error:EIO  d/below" "entries: status --failed names them"
	like "$(daemon_log "$mnt")" "d: 2 of the entries" "entries: in the log"
	told 3 entries
	is "$(as_nobody "$KIN" status --json "$mnt" |
		grep -c '"failed"\|"unread"')" 0 \
		"entries: another user is not told how many"
	fail
	rescan "$mnt"
	told 0 "entries that are back"
	fail stat-b stat-below
	rescan "$mnt"
	is "$(status_field "$mnt" unread)" 3 "known entries are counted"
	is "$(status_field "$mnt" files)" "$files" \
		"known entries: none is taken for removed"
	recovers "known entries" 2
}

test_directories() {
	fail list-d half-many
	rescan "$mnt"
	is "$(state "$mnt/d")" error:EIO "a directory that cannot be listed"
	is "$(state "$mnt/many")" error:EIO "one that can by half"
	told 2 directories
	is "$(failed_of "$mnt")" \
		"error:EIO  d
error:EIO  many" "directories: status --failed names them"
	is "$(status_field "$mnt" files)" "$files" \
		"directories: nothing in them is taken for removed"
	unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o wait=20
	wait_idle "$mnt"
	is "$(status_field "$mnt" files)" "$files" "nor at the next mount"
	recovers directories 0
	unmount "$mnt"
	rm -rf "$(catalog_of "$mnt")"
	fail list-d half-many
	mount_kinfs "$src" "$mnt" -o wait=20
	wait_idle "$mnt"
	between "$(status_field "$mnt" fresh)" 8 12 \
		"directories: what is listed before the error is hashed"
	unmount "$mnt"
}

# Commands that walk a tree that is no mount.
test_plain() {
	fail half-many stat-b
	code_of "$KIN" digest -r -a xxh128 "$src"
	is "$code" 1 "kin digest -r fails"
	between "$(wc -l <"$T/out")" 11 13 "and goes on behind an error"
	is "$(grep -c 'b: Input/output error' "$T/err") $(grep -c \
		'many: Input/output error' "$T/err")" "3 1" "and says where"
	code_of "$KIN" strip "$src"
	is "$code $(cat "$T/out")" "1 0 attributes of 0 files removed" \
		"so does kin strip"
	is "$(wc -l <"$T/err")" 4 "which says where, too"
}

# Another directory in its place: what was in the old one is not counted.
test_replaced() {
	local tree=$T/replaced
	mkdir -p "$tree/d" "$tree.mnt"
	cp "$disk"/[abc] "$tree/d"
	mount_kinfs "$tree" "$tree.mnt"
	wait_idle "$tree.mnt"
	unmount "$tree.mnt"
	mv "$tree" "$tree.old"
	mkdir "$tree"
	mv "$tree.old/d/a" "$tree"
	cp "$disk/b" "$tree"
	mount_kinfs "$tree" "$tree.mnt"
	wait_idle "$tree.mnt"
	is "$(status_field "$tree.mnt" files) $(status_field "$tree.mnt" \
		directories)" "2 1" "SOURCE made anew: its own files are counted"
	unmount "$tree.mnt"
}

# The rule for a name needs no look at the file.
test_excluded() {
	fail stat-b list-d
	mount_kinfs "$src" "$mnt" -o 'exclude=b,exclude=d'
	wait_idle "$mnt"
	is "$(status_field "$mnt" unread)" 0 "what is excluded is not missed"
	unmount "$mnt"
}

test_unlinked() {
	rm -rf "$(catalog_of "$mnt")"
	fail unlinked
	mount_kinfs "$src" "$mnt" -o wait=20
	code_of "$KIN" wait "$mnt"
	is "$code $(tail -n 1 "$T/out")" "0 100 % ($files of $files files)" \
		"a link count of 0: all is done"
	is "$(status_field "$mnt" fresh)" "$files" \
		"a link count of 0: all are hashed"
	is "$(listed "$mnt/.similar/a")" 100_copy "and listed"
	echo more >>"$disk/a"
	rescan "$mnt"
	is "$(getx "$mnt/a" user.xxh128)" "$(xxhsum -H2 <"$disk/a" | cut -d' ' -f1)" \
		"and hashed when they change"
	unmount "$mnt"
	fail
}

# A daemon without descriptors can list nothing for a while.
test_lack() {
	local limit pid scans
	mkdir -p "$T/lack/d" "$T/lack.mnt"
	cp "$disk"/[abc] "$T/lack/d"
	mount_kinfs "$T/lack" "$T/lack.mnt"
	wait_idle "$T/lack.mnt"
	pid=$(daemon_pid "$T/lack.mnt")
	limit=$(prlimit --pid "$pid" --nofile --output HARD --noheadings)
	prlimit --pid "$pid" --nofile="3:$limit"
	cp "$disk/d/a" "$T/lack/d/new"
	rescan "$T/lack.mnt"
	is "$(status_field "$T/lack.mnt" unread)" 1 "no descriptors: is counted"
	code_of "$KIN" wait "$T/lack.mnt"
	is "$code" 3 "no descriptors: kin wait says so"
	scans=$(status_field "$T/lack.mnt" scan.scans)
	prlimit --pid "$pid" --nofile="$limit:$limit"
	ok "when there are some, the directory is read again" \
		poll 60 all_looked_at "$T/lack.mnt"
	wait_idle "$T/lack.mnt"
	is "$(status_field "$T/lack.mnt" fresh) $(status_field "$T/lack.mnt" \
		scan.scans)" "4 $scans" "and what is new in it is hashed"
	unmount "$T/lack.mnt"
}

all_looked_at() { # MOUNTPOINT
	[ "$(status_field "$1" unread)" = 0 ]
}

# ---- other filesystems below SOURCE ----

test_dead_mount() {
	local point=$T/local/d/dead
	mkdir -p "$point" "$T/local.mnt"
	cp "$disk"/[abc] "$T/local"
	cp "$disk"/[abc] "$T/local/d"
	chown 65534 "$point"
	fail
	mount_faulty "$disk" "$point"
	kill -KILL "${pid_of[$point]}"
	poll 20 gone "${pid_of[$point]}"
	mnt=$T/local.mnt
	mount_kinfs "$T/local" "$mnt" -o wait=20
	wait_idle "$mnt"
	is "$(status_field "$mnt" fresh)" 6 "a dead mount: all others are hashed"
	code_of "$KIN" export --plain "$mnt"
	is "$code" 3 "and kin export says that it has not all"
	is "$(failed_of "$mnt")" "error:ENOTCONN  d/dead" \
		"a dead mount is named"
	umount -l "$point"
	rescan "$mnt"
	is "$(status_field "$mnt" unread)" 0 "until it is unmounted"
}

test_others_mount() {
	local point=$T/local/d/dead
	open_fuse_to_all
	chmod 711 "$T" "$T/local" "$T/local/d"
	touch "$T/faulty.log"
	mkdir -p "$T/theirs"
	chown 65534 "$T/theirs"
	as_nobody "$T/helper-faulty" "$disk" "$T/faults" -f "$point" \
		>"$T/theirs.log" 2>&1 &
	pids+=("$!")
	poll 20 mounted "$point"
	not_ok "another user's mount is closed to root" ls "$point"
	rescan "$mnt"
	is "$(status_field "$mnt" fresh)" 6 "beside it all are hashed"
	is "$(status_field "$mnt" unread)" 1 "and it is counted"
	umount -l "$point"
	unmount "$mnt"
}

# ---- a daemon that may not read everything ----

test_closed() {
	share_programs
	mkdir -p "$T/home/src/closed" "$T/home/mnt" "$T/home/db"
	cp "$disk"/[abc] "$T/home/src"
	cp "$disk"/[abc] "$T/home/src/closed"
	chown -R 65534:65534 "$T/home"
	as_nobody env HOME="$T/home" timeout 600 "$KINFS" \
		-o "db=$T/home/db" "$T/home/src" "$T/home/mnt"
	as_nobody timeout 600 "$KIN" wait "$T/home/mnt" >"$T/out"
	chown 0 "$T/home/src/closed"
	chmod 700 "$T/home/src/closed"
	as_nobody timeout 600 "$KIN" rescan "$T/home/mnt"
	code=0
	as_nobody timeout 600 "$KIN" wait "$T/home/mnt" >"$T/out" 2>&1 || code=$?
	is "$code" 3 "a directory that the daemon may not list counts"
	like "$(as_nobody "$KIN" status "$T/home/mnt")" \
		"1 file or directory could not be looked at.*files +6: 6 fresh" \
		"and what is in it is not taken for removed"
	is "$(failed_of "$T/home/mnt" as_nobody)" "error:EACCES  closed" \
		"and named"
	as_nobody fusermount3 -u "$T/home/mnt"
}

make_tree
mkdir -p "$T/empty" "$T/empty.mnt"
mount_kinfs "$T/empty" "$T/empty.mnt"
fail
mount_faulty "$disk" "$src" || bail "a filesystem that fails" "$(cat "$T/output")"
test_entries
test_directories
test_plain
test_replaced
test_excluded
test_unlinked
test_lack
test_dead_mount
test_others_mount
test_closed
finish
