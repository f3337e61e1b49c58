#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What users of one mount can learn of each other and do to each other, and
# what is left to a daemon that was taken over.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

# ---- the sandbox ----

build_confined() { # the daemon's own sandbox around single system calls
	confined=$T/confined
	# shellcheck disable=SC2046 # words
	"$CC" -std=c11 -D_GNU_SOURCE -I. -Wall -Wextra -pthread -o "$confined" \
		-DFUSE_USE_VERSION=314 "$HELPERS/confined.c" fs/sandbox.c \
		$(pkg-config --cflags --libs libseccomp fuse3) &&
		chmod 755 "$confined"
}

test_calls() {
	local call
	ok "the sandbox compiles by itself" build_confined
	for call in execve fork socket stream ptrace kill; do
		is "$("$confined" no "$call")" ok "$call works outside"
		is "$("$confined" yes "$call")" EPERM "and not in the sandbox"
	done
	for call in mount unshare module bpf keyctl uring setuid input clock \
		hostname core; do
		is "$("$confined" yes "$call")" EPERM "nor does $call"
	done
	for call in thread log become; do
		is "$("$confined" yes "$call")" ok "but $call does"
	done
	is "$(as_nobody "$confined" no execve)" ok \
		"an ordinary user's daemon could start programs"
	is "$(as_nobody "$confined" yes execve)" EPERM "and cannot, either"
}

of_threads() { # FIELD: its values in all threads of the daemon
	sed -n "s/^$1:\t*//p" "/proc/$(daemon_pid "$mnt")/task/"*/status |
		sort -u
}

test_daemon() {
	local own
	if grep -q __asan_init "$KINFS"; then
		skip "the daemon is in the sandbox" "leaks are looked for"
		return
	fi
	own=$(sed -n 's/^CapEff:\t*//p' /proc/self/status)
	mount_kinfs "$src" "$mnt" -o allow_other
	wait_idle "$mnt"
	is "$(of_threads Seccomp)" 2 "all threads of the daemon are filtered"
	is "$(of_threads NoNewPrivs)" 1 "and can gain no privileges"
	is "$(printf %x "$((0x$(of_threads CapPrm) & ~0x982002df))")" 0 \
		"and have no capability they do not need"
	is "$(awk '/core/ { print $5, $6 }' \
		"/proc/$(daemon_pid "$mnt")/limits")" "0 0" \
		"the daemon leaves no memory image"
	ok "it unmounts" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o allow_other,sandbox=no
	is "$(of_threads Seccomp) $(of_threads CapEff)" "0 $own" \
		"-o sandbox=no leaves it as it was"
	ok "it unmounts" unmount "$mnt"
}


# ---- what users see of each other's files ----

team=60010

sees() { # GROUPS FILE: bob's listing of it
	as "$bob" "$1" ls "$mnt/.similar/$2" 2>&1
}

finds() { # GROUPS PATH: what bob gets who looks for a link by its name
	as "$bob" "$1" "$(helper sys)" find "$mnt/.similar/$2"
}

asks() { # GROUPS FILE [NAME]: what bob gets who asks for a digest
	as "$bob" "$1" "$(helper sys)" getx "$mnt/$2" "${3:-user.xxh128}"
}

make_shared_tree() {
	rm -rf "$src"
	mkdir -p "$src/closed/inner" "$src/dark" "$src/home" "$src/lit"
	gen_text 100 1 >"$src/open"
	for i in closed/inner/copy dark/copy home/group home/acl home/mine \
		lit/copy; do
		cp "$src/open" "$src/$i"
	done
	mv "$src/lit/copy" "$src/lit/shown"
	chown -R "$ada" "$src"
	chmod 700 "$src/closed"
	chmod 711 "$src/dark"
	chmod 640 "$src/home/group"
	chgrp "$team" "$src/home/group"
	chmod 600 "$src/home/acl" "$src/home/mine"
}

test_listings() {
	make_shared_tree
	mount_kinfs "$src" "$mnt" -o allow_other,timeout=0
	wait_idle "$mnt"
	is "$(as_ada ls "$mnt/.similar/open" | wc -l)" 6 \
		"the owner sees what is readable"
	is "$(sees none open)" 100_shown "another user only what is for all"
	is "$(as_bob readlink "$mnt/.similar/open/100_shown")" \
		../../lit/shown "in a directory that can be listed"
	is "$(finds none open/100_copy)" ENOENT \
		"not in one that can only be entered"
	is "$(sees "$team" open)" "100_group
100_shown" "a member of the group more"
	is "$(sees none open)" 100_shown "not so the same user without it"
	is "$(finds "$team" open/100_group)" ok "the member finds it by name"
	is "$(finds none open/100_group)" ENOENT "who is none does not"
	is "$(asks "$team" .similar/home/group user.kinfs.state)" ok \
		"nor is the state of a listing"
	is "$(asks none .similar/home/group user.kinfs.state)" EACCES \
		"told to others"
	is "$(finds none closed/inner/copy)" EACCES \
		"nothing is found below a directory that cannot be entered"
	is "$(sees none closed/inner 2>&1)" \
		"ls: cannot access '$mnt/.similar/closed/inner': Permission denied" \
		"nor listed"
	like "$(sees none dark)" "Permission denied" \
		"a directory that cannot be read is not listed"
	is "$(sees none dark/copy)" "100_open
100_shown" "but can be gone through"
	is "$(sees none "")" "lit
open" "the root shows what leads somewhere"
}

digests_hidden() { # FILE: bob, who is in no group, learns nothing of it
	[ "$(asks none "$1")" = EACCES ] &&
		[ "$(asks none "$1" user.sdhash)" = EACCES ] &&
		[ "$(asks none "$1" user.kinfs.state)" = EACCES ] &&
		[ -z "$(as_bob getfattr --absolute-names -m - \
			"$mnt/$1" 2>/dev/null)" ] && return
	echo "$1: $(asks none "$1") $(asks none "$1" user.sdhash)" \
		"$(asks none "$1" user.kinfs.state)"
	as_bob getfattr --absolute-names -d -m - "$mnt/$1"
	return 1
}

test_digests() {
	local file
	is "$(asks none open)" ok "a file for all has a digest for all"
	for file in home/group home/acl home/mine closed/inner/copy; do
		ok "$file tells another user nothing" digests_hidden "$file"
	done
	is "$(asks "$team" home/group)" ok "but its digest to the group"
}

# Access that was there when a listing was made, and is no more.
revoked() { # NAME ALLOW REVOKE: commands for the file home/acl in .
	local where
	for where in "$src" "$mnt"; do
		(cd "$where/home" && eval "$2") || return
		rescan "$mnt"
		is "$(sees "$team" open | grep -c acl)" 1 \
			"$1: it is listed where access is given"
		is "$(finds "$team" open/100_acl) $(asks "$team" home/acl)" \
			"ok ok" "$1: with its digest"
		exec 7<"$mnt/.similar/open"
		(cd "$where/home" && eval "$3") || return
		is "$(finds "$team" open/100_acl)" ENOENT \
			"$1: afterwards it is not found"
		rescan "$mnt"
		is "$(finds "$team" open/100_acl)" ENOENT \
			"$1: nor when it is up to date"
		is "$(sees "$team" open | grep -c acl)" 0 "$1: nor listed"
		is "$(asks "$team" home/acl)" EACCES "$1: nor has it a digest"
		is "$(asks "$team" home/acl user.kinfs.state)" EACCES \
			"$1: nor its state"
		exec 7<&-
	done
}

test_revoked() {
	revoked mode "chmod 604 acl" "chmod 600 acl"
	revoked group "chmod 640 acl && chgrp $team acl" "chgrp 0 acl"
	chmod 600 "$src/home/acl"
	revoked ACL "setfacl -m u:$bob:r acl" "setfacl -b acl"
	chmod 644 "$src/home/acl"
	revoked directory "chmod 755 ." "chmod 700 ."
	chmod 755 "$src/home"
	revoked "the directory's ACL" "setfacl -b ." "setfacl -m u:$bob:- ."
	setfacl -b "$src/home"
	ok "it unmounts" unmount "$mnt"
}

# The kernel remembers attributes, and checks permissions by them.
test_revoked_behind() {
	chmod 644 "$src/home/acl"
	mount_kinfs "$src" "$mnt" -o allow_other,timeout=600
	wait_idle "$mnt"
	is "$(asks none home/acl) $(asks none home/acl user.kinfs.state)" \
		"ok ok" "a digest that can be read, and is remembered as such"
	chmod 600 "$src/home/acl"
	is "$(asks none home/acl)" EACCES \
		"not after the file was closed behind the mount's back"
	is "$(asks none home/acl user.kinfs.state)" EACCES "nor its state"
	is "$(as_bob getfattr --absolute-names -m - \
		"$mnt/home/acl" 2>/dev/null)" "" "nor are there names"
	is "$(asks none home/acl user.sdhash)" EACCES "nor sdhash"
	ok "it unmounts" unmount "$mnt"
}

mkdir -p "$src"
echo something >"$src/file"
# ---- somebody who swaps a directory or a file for a link ----

# Seen from SOURCE the links lead to files outside of it, seen from the mount
# to nothing: who comes across those files was led there by the daemon.
make_race() {
	local secret=$T/deep/outside
	race=$T/deep/src
	mkdir -p "$race/dir/inner" "$secret/inner"
	gen_text 100 7 >"$secret/inner/file"
	cp "$secret/inner/file" "$race/bait"
	gen_text 100 8 >"$race/dir/inner/file"
	cp "$race/dir/inner/file" "$race/file"
	ln -s ../outside "$race/door"
	ln -s ../outside/inner/file "$race/window"
	chmod -R a+rwX "$T/deep"
}

start_swapping() { # A B: in the background, until the FIFO ends
	mkfifo "$T/stop"
	(cd "$race" && exec "$(helper swap)" "$1" "$2" "$(daemon_pid "$mnt")" \
		"$T/deep/outside" "$T/deep/outside/inner") <"$T/stop" >"$T/touched" \
		2>"$T/swapped" &
	swapper=$!
	exec 8>"$T/stop"
}

stop_swapping() {
	exec 8>&-
	wait "$swapper"
	rm "$T/stop"
}

# Everything that takes a path, as two users.
use_race() {
	local who
	"$KIN" rescan "$mnt"
	for who in 0 "$bob"; do
		as "$who" none "$(helper wander)" "$mnt" 10 dir/inner/file file
		as "$who" none "$KIN" similar "$mnt/bait"
	done
}

race_for() { # NAME A B
	local round
	start_swapping "$2" "$3"
	for ((round = 0; round < 8; round++)); do
		use_race
	done >"$T/seen" 2>&1
	stop_swapping
	like "$(tail -n 1 "$T/swapped")" '^[0-9]{4,} swaps' \
		"$1 and a link change places thousands of times"
	is "$(cat "$T/touched")" 0 "and nothing outside is ever opened"
	diag "$(tail -n 3 "$T/swapped")"
	is "$(grep -acF -e "$secret_digest" -e "$secret_line" "$T/seen")" 0 \
		"nor its digest or content seen"
	isnt "$(grep -acF -e "$own_line" "$T/seen")" 0 \
		"while that of the file is"
	ok "$1: the daemon lives" alive "$mnt"
	rescan "$mnt"
	is "$(ls "$mnt/.similar/bait")" "" \
		"and does not know of anything like it"
}

test_races() {
	local secret_digest secret_line own_line
	make_race
	secret_digest=$(xxhsum -H2 <"$race/bait" | cut -d' ' -f1)
	own_line=$(head -n 1 "$race/file")
	secret_line=$(head -n 1 "$race/bait")
	# What the mount itself shows under its own name does not count.
	chmod 600 "$race/bait"
	mount_kinfs "$race" "$mnt" -o "allow_other,timeout=0,wait=0,db=$T/db-race"
	wait_idle "$mnt"
	race_for "a directory" dir door
	race_for "a file" file window
	ok "it unmounts" unmount "$mnt"
}

# ---- how much one user can ask for ----

# Many at once ask for the listing of a file that is not ready; prints the
# error of the first that is turned away.
crowd() { # COUNT PATH
	perl -MErrno=EAGAIN -e '
		my ($count, $path) = @ARGV;
		my %crowd;
		for (1 .. $count) {
			my $pid = fork // die;
			$crowd{$pid} = 1, next if $pid;
			opendir(my $d, $path) and exit 0;
			exit($! == EAGAIN ? 11 : 1);
		}
		my $pid = wait;
		print $? >> 8 == 11 ? "EAGAIN" : "exit $?", "\n";
		close STDOUT;
		delete $crowd{$pid};
		<STDIN>;
		kill KILL => keys %crowd;
		1 while wait > 0;' "$@"
}

is_fresh() { # FILE
	[ "$(getx "$1" user.kinfs.state)" = fresh ]
}

test_bounds() {
	rm -rf "$src" && mkdir -p "$src"
	truncate -s 200G "$src/huge"
	echo small >"$src/small"
	mount_kinfs "$src" "$mnt" -o allow_other,wait=600,workers=2
	poll 20 is_fresh "$mnt/small"
	mkfifo "$T/enough"
	as_bob bash -c "$(declare -f crowd); crowd 560 \"\$1\"" - \
		"$mnt/.similar/huge" <"$T/enough" >"$T/crowd" &
	exec 8>"$T/enough"
	ok "who waits for too much is turned away" \
		poll 60 grep -qx EAGAIN "$T/crowd"
	is "$(as_ada ls "$mnt/.similar/small" 2>&1)" "" \
		"while others are served"
	is "$(as_ada "$(helper sys)" getx "$mnt/small" \
		user.xxh128)" ok "with all they ask for"
	exec 8>&-
	wait "$!"
	rm "$src/huge"
	ok "it unmounts" unmount "$mnt"
}

# ---- the catalog and names ----

test_catalog() {
	local db=$T/db-modes
	mkdir -p "$mnt"
	(umask 000 && exec "$KINFS" -f "$src" "$mnt" -o "db=$db" \
		>"$T/said" 2>&1) &
	pids+=("$!")
	poll 20 mounted "$mnt"
	wait_idle "$mnt"
	is "$(stat -c %a "$db")" 700 "the catalog is for its owner alone"
	is "$(find "$db" -type f -perm /077)" "" "so is every file in it"
	isnt "$(find "$db" -type f)" "" "and there are some"
	ok "unmount" fusermount3 -u "$mnt"
	wait "$!"
}

# Names that look like those of the listing, that are equal once they are cut,
# that are no text.
make_hostile_names() {
	rm -rf "$src" && mkdir "$src"
	perl -e 'chdir shift or die; my $long = "l" x 254;
		for (["1", "a"], ["2", "a"], ["3", "a~2"], ["4", "100_a"],
			["5", "100_a~2"], ["6", "099_a~3"], ["7", "${long}1"],
			["8", "${long}2"],
			(map {; [14 + $_, "m" x 249 . ("AA", "BB")[$_ / 2.1] . $_] } 1 .. 4),
			["9", "\xff\xc0\x80"],
			["10", "\xed\xa0\x80"], ["11", "x\ny\e[31m"],
			["12", "\xf0\x9f\x98\x80" x 63 . "abc"],
			["13", "..."], ["14", "\\\"}"]) {
			my ($dir, $name) = @$_;
			mkdir $dir or die;
			open my $f, ">", "$dir/$name" or die;
			print $f map { $_ * $_ . "\n" } 1 .. 500; }' "$src"
}

# Every file is listed once by every other, under a name that leads to it.
hostile_listings() {
	perl -e 'use Cwd "realpath"; my $top = shift; my $bad = 0;
		my @files = glob("$top/[0-9]*/*"); push @files, glob("$top/13/...");
		for my $file (@files) {
			my $list = $file; $list =~ s/^\Q$top\E/$top\/.similar/;
			opendir my $d, $list or die "$list: $!";
			my %found;
			for (grep { !/^\.\.?$/ } readdir $d) {
				length > 255 and die "too long";
				$found{realpath("$list/$_") // "nothing"}++;
			}
			delete $found{$file} and $bad++;
			my $want = join "\0", sort grep { $_ ne $file } @files;
			my $have = join "\0", sort keys %found;
			$bad++ if $want ne $have || grep { $_ > 1 } values %found;
		}
		print scalar @files, " files, $bad bad\n"' "$mnt"
}

is_json() { # COMMAND...
	"$@" | perl -MJSON::PP -ne 'decode_json($_)'
}

test_names() {
	make_hostile_names
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	is "$(hostile_listings)" "18 files, 0 bad" \
		"all of them are listed, and lead to their files"
	ok "kin similar --json is JSON" is_json \
		"$KIN" similar --json "$mnt/1/a"
	ok "so is kin digest --json" is_json \
		"$KIN" digest --json -r "$mnt"
	is "$("$KIN" similar "$mnt/1/a" | wc -l)" 18 \
		"kin similar prints a line for each"
	unlike "$("$KIN" similar "$mnt/1/a")" $'\e' \
		"and nothing that a terminal obeys"
	ok "it unmounts" unmount "$mnt"
}

# ---- an ordinary user's daemon ----

mount_as_nobody() { # OPTIONS...
	mkdir -p "$T/db-nobody" "$mnt"
	chown -R 65534:65534 "$src" "$mnt" "$T/db-nobody"
	printf '#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 %s "%s" "$@"\n' \
		--clear-groups "$KINFS" >"$T/kinfs-as-nobody"
	chmod 755 "$T/kinfs-as-nobody"
	KINFS=$T/kinfs-as-nobody mount_kinfs "$src" "$mnt" \
		-o "db=$T/db-nobody" "$@"
}

test_user_mount() {
	echo user_allow_other >"$T/fuse.conf"
	mount --bind "$T/fuse.conf" /etc/fuse.conf
	open_fuse_to_all
	rm -rf "$src" && mkdir -p "$src"
	gen_text 50 1 >"$src/open"
	cp "$src/open" "$src/closed"
	chmod 600 "$src/closed"
	mount_as_nobody -o allow_other
	as_nobody timeout 600 "$KIN" wait "$mnt" >/dev/null
	is "$(of_threads Seccomp)" 2 "a user's daemon is filtered, too"
	is "$(as_nobody ls "$mnt/.similar/open")" 100_closed \
		"a user's mount: its owner sees what is similar"
	is "$(asks none open) $(asks none closed)" "ok EACCES" \
		"others read the digests of what they may read"
	is "$(as_bob "$(helper sys)" list "$mnt/.similar/open") $(
		as_bob "$(helper sys)" list "$mnt/.similar")" \
		"EPERM EPERM" "and not what is similar"
	test_user_end
	umount /etc/fuse.conf
}

unmounters() { # the processes that would run fusermount3
	grep -lszxF -f <(printf %s "$mnt") /proc/[0-9]*/cmdline | wc -l
}

no_unmounters() {
	[ "$(unmounters)" -eq 0 ]
}

# The daemon's own command line has the mount point, too.
test_user_end() {
	local daemon
	daemon=$(daemon_pid "$mnt")
	is "$(unmounters)" 2 "a process waits to unmount"
	kill "$daemon"
	ok "a signal ends the daemon" poll 10 gone "$daemon"
	not_ok "and unmounts" mounted "$mnt"
	is "$(unmounters)" 0 "nobody waits any more"
	mount_as_nobody
	poll 10 as_nobody fusermount3 -u "$mnt"
	ok "it ends when it is unmounted" poll 10 gone "$(daemon_pid "$mnt")"
	is "$(unmounters)" 0 "and nobody waits"
	mount_as_nobody
	crash "$mnt"
	ok "nor when it is killed" poll 10 no_unmounters
	ok "which leaves the mount" mounted "$mnt"
	as_nobody fusermount3 -u "$mnt"
	mount_as_nobody
	ok "the catalog was let go of" alive "$mnt"
	poll 10 as_nobody fusermount3 -u "$mnt"
	ok "it ends" poll 10 gone "$(daemon_pid "$mnt")"
	mount_as_nobody -o auto_unmount
	kill "$(daemon_pid "$mnt")"
	ok "auto_unmount: a signal ends it" \
		poll 10 gone "$(daemon_pid "$mnt")"
	not_ok "and unmounts" mounted "$mnt"
	ok "nobody waits" poll 10 no_unmounters
}

# What cannot be scanned is named in the log.
test_log() {
	local name=$'evil\e[31m\nkinfs: forged' log
	rm -rf "$src" && mkdir -p "$src/$name"
	chmod 000 "$src/$name"
	mount_as_nobody
	as_nobody timeout 600 "$KIN" wait "$mnt" >/dev/null
	log=$(daemon_log "$mnt")
	like "$log" 'evil.*Permission denied' "a directory is reported"
	unlike "$log" $'\e' "without what a terminal obeys"
	unlike "$log" $'\nkinfs: forged' "nor as a line of its own"
	poll 10 as_nobody fusermount3 -u "$mnt"
	ok "the daemon ends" poll 10 gone "$(daemon_pid "$mnt")"
}

share_programs
helper sys >/dev/null && helper wander >/dev/null
test_calls
test_daemon
test_listings
test_digests
test_revoked
test_revoked_behind
test_races
test_bounds
test_catalog
test_names
test_user_mount
test_log
finish
