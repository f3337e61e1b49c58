#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Whatever is wrong with the command line, the tree or the disk: kinfs says
# what it is, or carries on.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

bad() { # NAME REGEX ARGUMENTS...: kinfs refuses these
	local name=$1 words=$2
	shift 2
	has_db "$@" || set -- "$@" -o "db=$T/db-bad"
	refused "$name" "^kinfs: .*$words" timeout 600 "$KINFS" "$@"
}

test_command_line() {
	local option
	mkdir -p "$src/inside" "$mnt" "$T/outer/source"
	echo x >"$T/file"
	bad "a missing source" "$T/nosuch" "$T/nosuch" "$mnt"
	bad "a source that is a file" "$T/file.*" "$T/file" "$mnt"
	bad "a missing mount point" "$T/nosuch" "$src" "$T/nosuch"
	bad "a mount point that is a file" "$T/file" "$src" "$T/file"
	bad "a mount point inside SOURCE" "$src/inside" "$src" "$src/inside"
	bad "SOURCE inside the mount point" "$T/outer" "$T/outer/source" \
		"$T/outer"
	bad "an unknown option" nosuchoption "$src" "$mnt" -o nosuchoption
	bad "an unknown digest" nosuchdigest "$src" "$mnt" \
		-o digests=nosuchdigest
	bad "a catalog inside SOURCE" "$src/db" "$src" "$mnt" -o "db=$src/db"
	for option in wait=x wait=-1 workers=x workers=-2 threshold=101 \
		threshold=0 threshold=x limit=-1 limit=x limit=65537 min_size=x \
		share_min=x share_min=0 share_min=2047 share_min=-3 \
		share_min=1.5K share_min=99999999999G \
		max_size=12y xattrs=x similar=x passthrough=x \
		similar_name=a/b similar_name= sandbox= sandbox=x digests= \
		timeout=x timeout=. timeout=0x1 timeout=1e3 \
		wait=99999999999999999999; do
		bad "the option $option" "${option%%=*}" "$src" "$mnt" \
			-o "$option"
	done
	refused "no argument" "[Uu]sage" timeout 600 "$KINFS"
	refused "one argument" "." timeout 600 "$KINFS" "$src"
	refused "three arguments" "." timeout 600 "$KINFS" "$src" "$mnt" x
	ok "-h" timeout 600 "$KINFS" -h
	ok "-V" timeout 600 "$KINFS" -V
	not_ok "nothing is mounted" mounted "$mnt"
	is "$(find "$src" -mindepth 1)" "$src/inside" \
		"and nothing was written into SOURCE"
}

test_stale_mount_point() {
	mount_kinfs "$src" "$mnt"
	crash "$mnt"
	bad "a stale mount point, with advice" "$mnt.*fusermount3 -u" \
		"$src" "$mnt"
	fusermount3 -u "$mnt"
	try_mount "$src" "$mnt" -o timeout=.2
	ok "which helps; a timeout is what a person writes" alive "$mnt"
	ok "unmount" unmount "$mnt"
	not_ok "kin status of what is no mount" "$KIN" status "$mnt"
	not_ok "kin wait of what is no mount" timeout 600 "$KIN" wait "$mnt"
}

# A reader of a FIFO waits for ever, and so would a daemon that opened one.
make_special() {
	mkfifo "$src/fifo"
	perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Type => SOCK_STREAM,
		Local => shift, Listen => 1) or die' "$src/socket"
	mknod "$src/null" c 1 3
	mknod "$src/loop" b 7 0
	ln -s nowhere "$src/dangling"
	ln -s loops "$src/loops"
	ln -s . "$src/circle"
}

# Whether anybody opens the FIFO for reading shows in that a writer that
# does not want to wait is told so.
fifo_has_reader() {
	perl -MFcntl -e 'exit !sysopen(F, shift, O_WRONLY | O_NONBLOCK)' \
		"$src/fifo"
}

test_special() {
	make_special
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	for name in fifo socket null loop dangling loops; do
		isnt "$(errno_of getx "$mnt/$name" user.xxh128)" ok \
			"a $name has no digest"
	done
	not_ok "nobody opened the FIFO" fifo_has_reader
	is "$(stat -c '%F %t,%T' "$mnt/null" "$mnt/loop" "$mnt/fifo" \
		"$mnt/socket")" "$(stat -c '%F %t,%T' "$src/null" \
		"$src/loop" "$src/fifo" "$src/socket")" \
		"special files look as they do in SOURCE"
	(echo through >"$mnt/fifo") &
	is "$(timeout 600 cat "$mnt/fifo")" through "a FIFO works"
	wait "$!"
}

make_names() {
	mkdir -p "$src/names"
	perl -e 'chdir shift or die; my $i = 0;
		for ("\xff\xfe", "new\nline", "\n", " ", "-rf", "a\\b", "~",
			"x" x 255, "\xe2\x82\xac" x 85, "\x01\x1b[31m",
			"100_x", "a~2", "\"", "\x27", "%s%n") {
			open F, ">", "./$_" or die;
			print F "the same text in every one " x 100;
			close F; }' "$src/names"
}

test_names() {
	make_names
	rescan "$mnt"
	is "$(find "$mnt/names" -type f -print0 |
		xargs -0 getfattr --absolute-names -n user.xxh128 -- | grep -c xxh128)" 15 \
		"files of any name have digests"
	is "$(find "$mnt/names" -type f -print0 | tr -cd '\0' | wc -c)" 15 \
		"and are listed"
	is "$(find "$mnt/.similar/names" -mindepth 1 -maxdepth 1 -print0 |
		tr -cd '\0' | wc -c)" 15 "in .similar, too"
	is "$(find "$mnt/.similar/names/ " -type l -exec cmp -- {} \
		"$mnt/names/ " \; -print0 | tr -cd '\0' | wc -c)" 14 \
		"their links lead to their files"
	ok "kin similar prints them" "$KIN" similar "$mnt/names/a\\b"
	ok "as JSON, too" kin_similar_json "$mnt/names/a\\b"
}

kin_similar_json() {
	"$KIN" similar --json "$1" |
		perl -MJSON::PP -ne 'decode_json($_)'
}

test_deep() {
	local deep
	deep=$(perl -e 'print join "/", ("d") x 200')
	mkdir -p "$src/$deep"
	gen_text 50 1 >"$src/$deep/file"
	cp "$src/$deep/file" "$src/shallow"
	rescan "$mnt"
	ok "a file 200 directories deep has its digests" \
		digests_match "$mnt/$deep/file"
	ok "and is similar to one above" cmp \
		"$mnt/.similar/shallow/100_file" "$src/shallow"
	ok "and the reverse" cmp "$mnt/.similar/$deep/file/100_shallow" \
		"$src/shallow"
}

# Paths longer than PATH_MAX exist, too.
test_very_deep() {
	perl -e 'chdir shift or die; my $name = "n" x 250;
		for (1 .. 30) { mkdir $name or die; chdir $name or die; }
		open F, ">", "file" or die; print F "deep\n"' "$src"
	rescan "$mnt"
	ok "a tree deeper than PATH_MAX does no harm" alive "$mnt"
	is "$(perl -e 'chdir shift or die; my $name = "n" x 250;
		for (1 .. 30) { chdir $name or die; }
		exec "getfattr", "--only-values", "-n", "user.xxh128", "file"' \
		"$mnt")" "$(echo deep | xxhsum -H2 | cut -d' ' -f1)" \
		"a file in it has its digest"
	rm -rf "$src"/nnnn*
}

# Until $T/enough is there, if the code does not end it.
write_until_told() { # CODE: of perl, for the number $i, with $src and noise()
	rm -f "$T/enough"
	perl -e 'my ($src, $enough) = @ARGV;
		sub noise { pack "L*", map { rand 2**32 } 1 .. $_[0] / 4 }
		for (my $i = 0; !-e $enough; $i++) {'"$1"'}' "$src" "$T/enough"
}

test_vanishing() {
	local i writer
	write_until_told 'my $name = "$src/vanishing-" . $i % 7;
		open my $f, ">", $name or die "$name: $!";
		print $f noise(20000);
		close $f;
		unlink "$src/vanishing-" . ($i + 3) % 7;' &
	writer=$!
	for i in {1..8}; do
		timeout 600 "$KIN" rescan "$mnt"
		find "$mnt" -maxdepth 1 -name 'vanishing*' -exec \
			getfattr -n user.xxh128 -- {} + >/dev/null 2>&1
	done
	: >"$T/enough"
	ok "files come and go" wait "$writer"
	rescan "$mnt"
	ok "files that come and go while they are hashed" alive "$mnt"
	for i in "$src"/vanishing-*; do
		poll 10 cmp "$i" "$mnt/${i##*/}"
		ok "those that stayed are right" \
			digests_match "$mnt/${i##*/}"
	done
	rm -f "$src"/vanishing-*
}

test_changing() {
	local writer
	gen 30000000 1 >"$src/changing"
	write_until_told 'open my $f, "+<", "$src/changing" or die;
		seek $f, $i * 400000, 0;
		print $f noise(100000);
		exit if $i == 60;' &
	writer=$!
	until gone "$writer"; do
		getx "$mnt/changing" user.xxh128 >/dev/null
	done
	poll 10 cmp "$mnt/changing" "$src/changing"
	ok "a file written while it is hashed is right in the end" \
		digests_match "$mnt/changing"
}

test_growing() {
	local writer
	gen 5000000 2 >"$src/growing"
	(while :; do echo more; done >>"$src/growing") &
	writer=$!
	ok "others are hashed while one grows for ever" \
		digests_match "$mnt/changing"
	ok "and new ones" new_file_hashed
	kill "$writer"
	wait "$writer" 2>/dev/null
	truncate -s 6000000 "$src/growing"
	poll 10 cmp "$mnt/growing" "$src/growing"
	ok "when it stops, it is hashed" digests_match "$mnt/growing"
	ok "unmount" unmount "$mnt"
}

new_file_hashed() {
	gen 5000 3 >"$mnt/new-one" && digests_match "$mnt/new-one"
}

# A daemon that is not root cannot read everything.
test_unreadable() {
	open_fuse_to_all
	rm -rf "$src"
	mkdir -p "$src/closed" "$T/home"
	gen_text 50 1 >"$src/fine"
	cp "$src/fine" "$src/no-read"
	cp "$src/fine" "$src/closed/hidden"
	chmod 000 "$src/no-read" "$src/closed"
	chown 65534:65534 "$src/fine" "$src" "$mnt" "$T/home" "$src/closed"
	mkdir "$T/db-nobody"
	chown 65534:65534 "$T/db-nobody"
	KINFS_ROOT=$KINFS
	KINFS=$T/kinfs-as-nobody
	printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 %s "%s" "$@"\n' \
		--clear-groups "$KINFS_ROOT" >"$KINFS"
	chmod 755 "$KINFS"
	mount_kinfs "$src" "$mnt" -o "db=$T/db-nobody"
	KINFS=$KINFS_ROOT
	refused "unreadable files: hashing finishes, and says so" \
		"1 file could not be hashed" as_nobody timeout 600 \
		"$KIN" wait "$mnt"
	is "$(as_nobody getfattr --absolute-names --only-values \
		-n user.kinfs.state "$mnt/fine")" fresh "others are hashed"
	is "$(as_nobody "$(helper sys)" getx "$mnt/no-read" user.sise)" \
		EACCES "an unreadable one cannot be asked"
	is "$(as_nobody ls "$mnt/.similar/fine")" "" "and is not listed"
	ok "unmount" as_nobody fusermount3 -u "$mnt"
	poll 10 gone "$(daemon_pid "$mnt")"
}

# The catalog's disk is full: files are served all the same.
test_full_disk() {
	local log
	rm -rf "$src"
	mkdir -p "$src" "$T/small"
	gen 40000000 1 | split -b 10000 -a 4 - "$src/"
	mount -t tmpfs -o size=400k tmpfs "$T/small"
	mkdir "$T/small/db"
	if try_mount "$src" "$mnt" -o "db=$T/small/db,wait=5"; then
		(timeout 15 "$KIN" wait "$mnt" >/dev/null 2>&1)
		ok "a full disk: the daemon stays up" alive "$mnt"
		ok "a full disk: files are readable" diff -r "$src" "$mnt"
		ok "a full disk: and writable" cp /etc/passwd "$mnt/new"
		log=$(daemon_log "$mnt")
		like "$log" '[Nn]o space|full' "a full disk: it is reported"
		between "$(wc -l <<<"$log")" 1 20 "a full disk: a few times"
		poll 10 fusermount3 -u "$mnt"
		ok "a full disk: it ends" poll 20 gone "$(daemon_pid "$mnt")"
	else
		like "$(daemon_log "$mnt")" '[Nn]o space|full' \
			"a full disk: it is reported"
	fi
	mount -o remount,size=200m "$T/small"
	mount_kinfs "$src" "$mnt" -o "db=$T/small/db"
	wait_idle "$mnt"
	ok "with room again it works" digests_match "$mnt/aaaa"
	ok "unmount" unmount "$mnt"
	umount "$T/small"
}

default_attributes
test_command_line
test_stale_mount_point
test_special
share_programs
test_names
test_deep
test_very_deep
test_vanishing
test_changing
test_growing
test_unreadable
test_full_disk
finish
