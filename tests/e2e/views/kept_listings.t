#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Listings are kept for a while to look names up in them; what they take is
# bounded, however many are walked through.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
copies=500

# 500 copies with names of 200 bytes: 250,000 links, of which each takes more
# than 500 bytes.
make_tree() {
	local i long
	long=$(printf '%200s' '' | tr ' ' n)
	mkdir "$src"
	gen_text 100 1 >"$src/text"
	for ((i = 1; i < copies; i++)); do
		echo "$src/$i-$long =$src/text"
	done | gen_files
}

memory_kb() {
	awk '$1 == "RssAnon:" { print $2 }' "/proc/$(daemon_pid "$mnt")/status"
}

# The kernel has no reason to forget any of the directories.
list_all() {
	perl -e 'for (glob "$ARGV[0]/*") {
		opendir my $d, $_ or die "$_: $!";
		my $links = grep !/^\.\.?$/, readdir $d;
		die "$_: $links links" if $links != $ARGV[1] - 1;
	}' "$mnt/.similar" "$copies"
}

make_tree
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
ls "$mnt/.similar/text" >/dev/null
before=$(memory_kb)
ok "every listing has all the copies" list_all
between "$(($(memory_kb) - before))" 0 65536 \
	"250,000 links took at most 64 MiB of the daemon's memory"
finish
