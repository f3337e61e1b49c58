#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The recipe of kin(1) that stops when files turn into noise: it does when a
# tree is encrypted, in three ways, and is silent about ordinary work.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
export HOME=$T/home
mnt=$HOME/kin
PATH=$(dirname "$KIN"):$PATH
recipe=$(sed -n '/turn into noise/,/^\.Ed/p' core/cli/kin.1 |
	sed '1,/^\.Bd/d; /^\.Ed/d')
like "$recipe" '^kin watch' "kin(1) has the recipe"

# Twenty files of up to 4 KB, thirty of up to 60 KB, six of up to 300 KB.
make_tree() {
	local i lines
	mkdir -p "$src/notes"
	for i in {1..56}; do
		lines=$((i <= 20 ? 14 + 2 * i : i <= 50 ? 30 * i - 500 : \
			(i - 48) * 600))
		gen_text "$lines" "$i" >"$src/notes/file$i.txt"
	done
	for i in 1 2 3; do
		gen 30000 "7$i" >"$src/notes/photo$i.jpg"
	done
}

begin() { # COMMAND: mounts the tree, and starts the watch
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	bash -c "$1" >"$T/alarm" 2>"$T/alarm.err" &
	pids+=($!)
	watcher=$!
	poll 10 grep -q '^watching ' "$T/alarm.err" ||
		bail "the recipe runs" "$(cat "$T/alarm.err")"
}

stops() { # NAME
	ok "$1: it stops" poll 30 gone "$watcher"
	is "$(grep -c "^$mnt/notes/" "$T/alarm")" 10 "and prints ten files"
	unmount "$mnt" >"$T/output"
	rm -rf "$src" "$T/db-kin"
	make_tree
}

encrypt() {
	openssl enc -aes-256-ctr -K "$(printf '%064x' 99)" \
		-iv 00000000000000000000000000000000 2>>"$T/openssl.err"
}

# ---- three ways ----

make_tree
begin "$recipe"
for file in "$mnt"/notes/*; do
	encrypt <"$file" >"$file.tmp" && mv "$file.tmp" "$file"
done
stops "whole files"

begin "$recipe"
for file in "$mnt"/notes/*; do
	head -c 4096 "$file" | encrypt |
		dd of="$file" conv=notrunc status=none
done
stops "the first 4 KiB"

begin "$recipe"
for file in "$mnt"/notes/*; do
	size=$(stat -c %s "$file")
	for ((at = 0; at < size; at += 131072)); do
		tail -c +$((at + 1)) "$file" | head -c 65536 | encrypt |
			dd of="$file" conv=notrunc status=none bs=65536 \
				seek=$((at / 65536))
	done
done
stops "every second 64 KiB"

# ---- as people do ----

# Recorded, so that all of it has been told when it is looked at.
begin "kin watch $mnt"
cd "$mnt/notes" || exit 1
for i in {1..50}; do
	edit_text 10 "8$i" <"file$i.txt" >"$T/edited"
	case $((i % 4)) in
	0) cat "$T/edited" >"file$i.txt" ;;                  # in place
	1) cp "$T/edited" .new && mv .new "file$i.txt" ;;    # beside
	2) cp "file$i.txt" "file$i.txt~" &&                  # with a backup
		cat "$T/edited" >"file$i.txt" ;;
	3) rm "file$i.txt" && cp "$T/edited" "file$i.txt" ;; # as git does
	esac
done
# What is removed before it has digests is not told.
timeout 600 "$KIN" wait "$mnt" >"$T/output"
sed -i 's/e/E/; s/$/\r/' file5?.txt
echo 'one more line' | tee -a file1?.txt >"$T/output"
mkdir old && mv file2?.txt old
tar czf old.tar.gz old && rm -r old
gzip file3?.txt
zstd -q --rm photo?.jpg
cp file40.txt file41.txt
: >file42.txt
tar xzf old.tar.gz
gen 50000 5 >photo4.jpg
gen 50000 6 >photo4.jpg
cd / || exit 1
told_all() { # NAME: of a file that is made when all others have digests
	timeout 600 "$KIN" wait "$mnt" >"$T/output"
	echo 'that was all' >"$mnt/notes/$1"
	poll 20 grep -q "/notes/$1\"" "$T/alarm"
}
told_all last
between "$(jq -c 'select(.kept != null)' "$T/alarm" | wc -l)" 20 500 \
	"ordinary work is told"
is "$(bash -c "${recipe#*|}" <"$T/alarm")" "" "and is no noise"
for file in "$mnt"/notes/file*.txt; do
	encrypt <"$file" >"$file.tmp" && mv "$file.tmp" "$file"
done
told_all very_last
is "$(bash -c "${recipe#*|}" <"$T/alarm" | grep -c '/notes/file')" 10 \
	"noise after that is"
finish
