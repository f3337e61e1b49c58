#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The catalog cannot be read any more while a mount has it open: another program
# cut its file, or the disk has bad blocks.  The mount goes on, and another
# catalog takes its place.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
db=$(catalog_of "$mnt")

make_tree() { # COUNT: random files, and something similar
	mkdir -p "$src/many"
	gen "$(($1 * 4096))" 1 | split -b 4096 -a 4 - "$src/many/"
	gen_text 200 2 >"$src/text"
	edit_text 5 3 <"$src/text" >"$src/draft"
	echo "a line" >"$src/lines"
}

truth() { # lines "identity  path" of the tree
	(cd "$src" && find . -type f -print0 | sort -z | xargs -0 xxhsum -H2 2>/dev/null)
}

told() { # the same by the mount
	(cd "$mnt" && find . -type f -print0 | sort -z |
		xargs -0 getfattr -n user.xxh128 --) |
		sed -n 's/^# file: \(.*\)/\1/p; s/^user.xxh128="\(.*\)"/\1/p' |
		paste -d ' ' - - | sed 's#\(.*\) \(.*\)#\2  ./\1#'
}

digests_are_right() { # NAME
	told >"$T/told"
	truth >"$T/truth"
	same "$1" "$T/told" "$T/truth"
}

set_aside() {
	find "$db" -name '*.damaged-*' | wc -l
}

cut_catalog() {
	truncate -s 8192 "$db/data.mdb"
}

# All of the new catalog is right, in a daemon that has never stopped.
recovered() { # NAME PID SET_ASIDE
	ok "$1: kin wait waits for the new catalog" \
		timeout 600 "$KIN" wait "$mnt"
	is "$(daemon_pid "$mnt")" "$2" "$1: the daemon is the same"
	ok "$1: and answers" alive "$mnt"
	digests_are_right "$1: all digests are right"
	is "$(set_aside)" "$3" "$1: the damaged one is set aside"
	is "$(ls "$mnt/.similar/text")" "$(ls "$T/similar")" \
		"$1: the listing is the same"
	is "$(state "$mnt/many/aaaa")" fresh "$1: files are fresh"
	ok "$1: the new catalog is in order" "$KIN" check "$mnt"
}

# ---- another program cuts the file ----

make_tree 400
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
mkdir "$T/similar"
for link in "$mnt/.similar/text"/*; do
	: >"$T/similar/${link##*/}"
done
isnt "$(ls "$T/similar")" "" "there is something similar"
pid=$(daemon_pid "$mnt")
exec 3<"$mnt/many/aaab" 4>>"$mnt/lines" 5<"$mnt/.similar/text"
echo before >&4
cut_catalog
like "$(getx "$mnt/many/aaad" user.xxh128)" '^[0-9a-f]{32}$' \
	"a digest is read at once"
echo after >&4
ok "an open file can be read" cmp "$src/many/aaab" - <&3
ok "and another one written" \
	test "$(tail -n 2 "$src/lines")" = "$(printf 'before\nafter\n')"
echo new >"$mnt/new"
exec 3<&- 4>&- 5<&-
recovered "cut while idle" "$pid" 1
like "$(daemon_log "$mnt")" \
	"the catalog is damaged; moved to $db/data.mdb.damaged-1" \
	"and the daemon says so"
unlike "$(status_json "$mnt")" '"error": *"' "the status has no error"

# The committer is at work all the time.
write_on() {
	local i=0
	while [ ! -e "$T/enough" ]; do
		i=$((i + 1))
		echo "$i" >"$mnt/busy-$((i % 50))" || return
	done
}
write_on &
writer=$!
poll 20 test -e "$src/busy-49"
cut_catalog
poll 60 test -e "$db/data.mdb.damaged-2"
touch "$T/enough"
wait "$writer"
is "$?" 0 "nothing that is written fails"
recovered "cut while it is written" "$pid" 2

ok "unmount" unmount "$mnt"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
is "$(status_field "$mnt" hashed.files)" 0 "a remount hashes nothing again"

# ---- it is deleted ----

pid=$(daemon_pid "$mnt")
find "$db" -mindepth 1 -delete
echo more >>"$mnt/new"
recovered "deleted" "$pid" 0
ok "unmount" unmount "$mnt"

# ---- it is damaged again and again ----

mount_kinfs "$src" "$mnt" -o wait=5
pid=$(daemon_pid "$mnt")
for n in 1 2 3; do
	wait_idle "$mnt"
	cut_catalog
	(: >>"$mnt/new")
	echo "$n" >>"$mnt/new"
	poll 60 test -e "$db/data.mdb.damaged-$n"
done
wait_idle "$mnt"
cut_catalog
echo 4 >>"$mnt/new"
not_ok "after three times, kin wait fails" timeout 60 "$KIN" wait "$mnt"
like "$(cat "$T/output")" "catalog" "and says that it is the catalog"
like "$(status_json "$mnt")" '"error": *"' "so does the status"
like "$(daemon_log "$mnt")" "files are served, their digests are not known" \
	"and the daemon"
is "$(set_aside)" 3 "nothing more is set aside"
is "$(state "$mnt/many/aaaa")" pending "files are pending"
is "$(tail -n 1 "$mnt/new")" 4 "they are served"
is "$(daemon_pid "$mnt")" "$pid" "by the same daemon"
ok "unmount" unmount "$mnt"
mount_kinfs "$src" "$mnt"
pid=$(daemon_pid "$mnt")
recovered "the next mount" "$pid" 4
ok "unmount" unmount "$mnt"

# ---- bad blocks ----

make_disk() {
	mkdir "$T/blocks" "$T/disk"
	echo "cached," >"$T/faults"
	mount_faulty "$T/blocks" "$T/disk"
}

# At once: with no faults told, files cannot be mapped.
faults() { # LIST
	echo "$1" >"$T/faults.new" && mv "$T/faults.new" "$T/faults"
}

# Opening a file drops what the kernel has cached of it.
forget_cached() {
	: <"$db/data.mdb"
}

ok "a disk that can fail" make_disk
db=$T/disk/catalog
mount_kinfs "$src" "$mnt" -o "db=$db"
pid=$(daemon_pid "$mnt")
wait_idle "$mnt"
exec 3<"$mnt/many/aaab"
# Those of this catalog, not of the new one.
faults "cached,blocks-$(stat -c %i "$T/blocks/catalog/data.mdb"),"
forget_cached
like "$(getx "$mnt/many/aaad" user.xxh128)" '^[0-9a-f]{32}$' \
	"a digest is read at once"
poll 60 test -e "$db/data.mdb.damaged-1"
faults "cached,"
ok "an open file can be read" cmp "$src/many/aaab" - <&3
exec 3<&-
recovered "bad blocks" "$pid" 1

# The kernel cannot read what it has not cached, and writes are well.
faults "cached,blocks,"
forget_cached
for n in 5 6 7 8; do
	echo "$n" >>"$mnt/new"
	timeout 60 "$KIN" wait "$mnt" >"$T/output" 2>&1
	forget_cached
done
ok "all blocks are bad: the daemon answers" alive "$mnt"
is "$(tail -n 1 "$mnt/new")" 8 "files are served"
between "$(set_aside)" 1 4 "and it does not go on for ever"
ok "unmount" unmount "$mnt"
faults "cached,"
mount_kinfs "$src" "$mnt" -o "db=$db"
wait_idle "$mnt"
digests_are_right "when the disk is well again, all is right"
ok "unmount" unmount "$mnt"
umount "$T/disk"
finish
