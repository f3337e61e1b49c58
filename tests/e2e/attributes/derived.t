#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The derived attributes get in nobody's way: tools that copy attributes work,
# real attributes pass through, and nothing is written to SOURCE.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt

make_tree() {
	rm -rf "$src"
	mkdir -p "$src/dir"
	gen_text 50 1 >"$src/dir/a"
	gen_text 50 2 >"$src/dir/b"
	: >"$src/dir/empty"
	setfattr -n user.real -v kept "$src/dir/a"
	setfattr -n user.real -v directory "$src/dir"
}

derived_in() { # DIRECTORY: our names among the attributes really stored
	getfattr -R -m - -d --absolute-names "$1" 2>/dev/null |
		grep -E '^user\.(sise|simhash|rdc\.traits|sif|sdhash|ssdeep|xxh128|kinfs)'
}

real_kept() { # DIRECTORY: the copy of dir
	[ "$(getx "$1/a" user.real)" = kept ] &&
		[ "$(getx "$1" user.real)" = directory ]
}

# What comes in carries stale digests, as a copy made from another mount does.
make_incoming() {
	mkdir -p "$T/in/dir"
	gen_text 50 3 >"$T/in/dir/a"
	gen_text 50 4 >"$T/in/dir/b"
	setfattr -n user.real -v kept "$T/in/dir/a"
	setfattr -n user.real -v directory "$T/in/dir"
	setfattr -n user.sise -v stale "$T/in/dir/a"
	setfattr -n user.xxh128 -v stale "$T/in/dir/b"
	setfattr -n user.kinfs.state -v stale "$T/in/dir/b"
	tar -C "$T/in" --xattrs --xattrs-include='*' -cf "$T/in.tar" dir
	bsdtar -C "$T/in" --xattrs -cf "$T/in-bsd.tar" dir
}

arrived() { # DIRECTORY below $mnt
	cmp "$T/in/dir/a" "$mnt/$1/a" && cmp "$T/in/dir/b" "$mnt/$1/b" &&
		real_kept "$mnt/$1" && digests_match "$mnt/$1/a" &&
		digests_match "$mnt/$1/b"
}

moved_in() { # NAME
	cp -a "$T/in/dir" "$T/in/$1" && mv "$T/in/$1" "$mnt/$1"
}

into_subdir() { # NAME COMMAND...: in a new directory of the mount
	mkdir "$mnt/$1"
	(cd "$mnt/$1" && "${@:2}")
}

test_in() { # MODE
	ok "$1: cp -a in" cp -a "$T/in/dir" "$mnt/cp"
	ok "$1: it arrived, with true digests" arrived cp
	ok "$1: cp --preserve=all in" cp -r --preserve=all "$T/in/dir" "$mnt/all"
	ok "$1: it arrived" arrived all
	ok "$1: mv in" moved_in mv
	ok "$1: it arrived" arrived mv
	ok "$1: rsync -aX in" rsync -aX "$T/in/dir" "$mnt/rsync"
	ok "$1: it arrived" arrived rsync/dir
	ok "$1: rsync -aX again" rsync -aX "$T/in/dir" "$mnt/rsync"
	ok "$1: tar --xattrs in" into_subdir tar tar --xattrs \
		--xattrs-include='*' -xf "$T/in.tar"
	ok "$1: it arrived" arrived tar/dir
	ok "$1: bsdtar -p in" into_subdir bsdtar bsdtar -xpf "$T/in-bsd.tar"
	ok "$1: it arrived" arrived bsdtar/dir
	ok "$1: cp -a inside the mount" cp -a "$mnt/dir" "$mnt/again"
	ok "$1: with its attributes" real_kept "$mnt/again"
	ok "$1: rsync -aX inside the mount" rsync -aX "$mnt/dir/" "$mnt/third"
	ok "$1: with its attributes" real_kept "$mnt/third"
	is "$(derived_in "$src")" "" "$1: nothing derived is stored in SOURCE"
}

moved_out() {
	cp -a "$mnt/dir" "$mnt/leaving" && mv "$mnt/leaving" "$1"
}

test_out() { # MODE
	local out=$T/out-$1
	mkdir -p "$out/tar" "$out/bsdtar"
	ok "$1: cp -a out" cp -a "$mnt/dir" "$out/cp"
	ok "$1: mv out" moved_out "$out/mv"
	ok "$1: rsync -aX out" rsync -aX "$mnt/dir/" "$out/rsync"
	ok "$1: tar --xattrs out" tar -C "$mnt" --xattrs \
		--xattrs-include='*' -cf "$out/a.tar" dir
	ok "$1: and extracted" tar -C "$out/tar" --xattrs \
		--xattrs-include='*' -xf "$out/a.tar"
	ok "$1: bsdtar out" bsdtar -C "$mnt" --xattrs -cf "$out/b.tar" dir
	ok "$1: and extracted" bsdtar -C "$out/bsdtar" -xpf "$out/b.tar"
	for copy in cp mv rsync tar/dir bsdtar/dir; do
		ok "$1: $copy has the contents" diff -r "$src/dir" "$out/$copy"
		ok "$1: $copy has the real attributes" real_kept "$out/$copy"
	done
}

test_modes() {
	make_tree
	mount_kinfs "$src" "$mnt"
	default_attributes
	test_in list
	test_out list
	isnt "$(derived_in "$T/out-list/cp")" "" \
		"list: what is listed is copied out"
	ok "unmount" unmount "$mnt"

	make_tree
	mount_kinfs "$src" "$mnt" -o xattrs=hide
	test_in hide
	test_out hide
	is "$(derived_in "$T/out-hide")" "" "hide: nothing derived is copied out"
	is "$(names "$mnt/dir/a")" user.real "hide: only real ones are listed"
	ok "hide: but they are read" digests_match "$mnt/dir/a"
	is "$(errno_of setx "$mnt/dir/a" user.sise)" ok "hide: and set in vain"
	ok "unmount" unmount "$mnt"
}

test_set() {
	local name
	make_tree
	mount_kinfs "$src" "$mnt"
	for name in $ATTRIBUTES user.sdhash user.kinfs.state; do
		is "$(errno_of setx "$mnt/dir/a" "$name")" ok \
			"setting $name is accepted"
		is "$(errno_of removex "$mnt/dir/a" "$name")" ok \
			"removing $name is accepted"
	done
	ok "and ignored" digests_match "$mnt/dir/a"
	is "$(errno_of setx "$mnt/dir/b" user.mine)" ok "another one is set"
	is "$(getfattr --only-values --absolute-names -n user.mine \
		"$src/dir/b")" value "in SOURCE"
	is "$(errno_of removex "$mnt/dir/b" user.mine)" ok "and removed"
	is "$(errno_of removex "$mnt/dir/b" user.mine)" ENODATA \
		"removed again: ENODATA"
	is "$(errno_of setx "$mnt/dir/b" trusted.mine)" ok "trusted too"
	setfattr -n user.sise -v stale "$src/dir/b"
	ok "a real user.sise in SOURCE is hidden" digests_match "$mnt/dir/b"
	is "$(names "$mnt/dir/b" | grep -c '^user\.sise$')" 1 "and listed once"
	ok "unmount" unmount "$mnt"
}

test_strict() {
	local name
	make_tree
	mount_kinfs "$src" "$mnt" -o xattrs=strict
	for name in $ATTRIBUTES; do
		is "$(errno_of setx "$mnt/dir/a" "$name")" EPERM \
			"strict: setting $name is EPERM"
		is "$(errno_of removex "$mnt/dir/a" "$name")" EPERM \
			"strict: removing $name is EPERM"
	done
	is "$(errno_of setx "$mnt/dir/a" user.mine)" ok "strict: others are set"
	ok "unmount" unmount "$mnt"
}

all_times() {
	find "$src" -printf '%p %i %s %T@ %C@ %m %U %G\n' | sort
}

test_untouched() {
	make_tree
	all_times >"$T/before"
	mount_kinfs "$src" "$mnt"
	wait_idle "$mnt"
	getfattr -R -d -m - --absolute-names "$mnt" >/dev/null
	ls -R "$mnt/.similar" >/dev/null
	all_times >"$T/after"
	same "reading digests changes no time in SOURCE" "$T/after" "$T/before"
	ok "unmount" unmount "$mnt"
}

# A file that takes long to hash: a hole of many gigabytes.
test_no_wait() {
	make_tree
	truncate -s 300G "$src/huge"
	mount_kinfs "$src" "$mnt" -o wait=0,workers=1
	is "$(errno_of getx "$mnt/huge" user.xxh128)" ENODATA \
		"wait=0: a pending file has no digest"
	is "$(state "$mnt/huge")" pending "its state says so"
	is "$(names "$mnt/huge")" "" "and it lists none"
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o wait=1,workers=1
	is "$(errno_of getx "$mnt/huge" user.xxh128)" ENODATA \
		"wait=1: ENODATA after the wait"
	ok "unmount" unmount "$mnt"
}

# Parked readers must not keep anybody else from working.
test_many_waiting() {
	local i readers=() begin
	mount_kinfs "$src" "$mnt" -o wait=600,workers=1
	for ((i = 0; i < 100; i++)); do
		getfattr --absolute-names -n user.xxh128 "$mnt/huge" \
			>/dev/null 2>&1 &
		readers+=("$!")
	done
	begin=$SECONDS
	ok "100 readers wait: ls works" timeout 600 ls -l "$mnt/dir"
	ok "and a file is read" timeout 600 cmp "$mnt/dir/a" "$src/dir/a"
	between "$((SECONDS - begin))" 0 5 "promptly"
	is "$("$(helper sys)" listx-alarm "$mnt/huge")" ok \
		"a list that a signal ends has what there is"
	kill "${readers[@]}"
	for i in "${readers[@]}"; do
		poll 5 gone "$i" || break
	done
	ok "a waiting reader can be interrupted" gone "$i"
	rm "$mnt/huge"
	ok "unmount" unmount "$mnt"
}

nobody_errno() { # CALL FILE NAME
	as_nobody "$(helper sys)" "$@"
}

test_permission() {
	make_tree
	chmod 600 "$src/dir/a"
	mount_kinfs "$src" "$mnt" -o allow_other
	wait_idle "$mnt"
	is "$(nobody_errno getx "$mnt/dir/a" user.sise)" EACCES \
		"a file one cannot read shows no digest"
	is "$(nobody_errno getx "$mnt/dir/b" user.sise)" ok \
		"a file one can read does"
	is "$(nobody_errno getx "$mnt/dir/a" user.kinfs.state)" EACCES \
		"nor its state"
	chmod 700 "$mnt/dir"
	is "$(nobody_errno getx "$mnt/dir/b" user.sise)" EACCES \
		"nor one in a closed directory"
	ok "unmount" unmount "$mnt"
}

sdhash_of() { # FILE: what kin says of its content
	"$KIN" digest -a sdhash - <"$1" | sed 's/  .*//'
}

# Computed when it is read, never kept, never listed.
test_sdhash() {
	make_tree
	gen $((1 << 20)) 9 >"$src/dir/middle"
	gen $((3 << 20)) 10 >"$src/dir/large"
	truncate -s 300G "$src/dir/huge"
	head -c 511 "$src/dir/middle" >"$src/dir/tiny"
	mount_kinfs "$src" "$mnt" -o exclude=huge
	wait_idle "$mnt"
	is "$(getx "$mnt/dir/middle" user.sdhash)" \
		"$(sdhash_of "$src/dir/middle")" "user.sdhash is the program's line"
	like "$(getx "$mnt/dir/middle" user.sdhash)" '^sdbf:03:5:stdin:1048576:' \
		"without a name of the file"
	unlike "$(names "$mnt/dir/middle")" sdhash "it is not listed"
	is "$(errno_of getx-short "$mnt/dir/middle" user.sdhash)" ERANGE \
		"a buffer that is too small gets ERANGE"
	is "$(errno_of getx "$mnt/dir/large" user.sdhash)" E2BIG \
		"above 64 KiB the answer is E2BIG"
	like "$("$KIN" digest --sdhash "$mnt/dir/large")" 'user.sdhash="sdbf' \
		"and kin prints it still"
	is "$(errno_of getx "$mnt/dir/tiny" user.sdhash)" ENODATA \
		"a file of 511 bytes has none"
	is "$(errno_of getx "$mnt/dir/empty" user.sdhash)" ENODATA "nor an empty one"
	is "$(errno_of getx "$mnt/dir/huge" user.sdhash)" ENODATA \
		"nor one that is skipped"
	gen 4096 11 >>"$mnt/dir/middle"
	is "$(getx "$mnt/dir/middle" user.sdhash)" \
		"$(sdhash_of "$src/dir/middle")" "it follows a change"
	mv "$mnt/dir/middle" "$mnt/dir/renamed"
	is "$(getx "$mnt/dir/renamed" user.sdhash)" \
		"$(sdhash_of "$src/dir/renamed")" "a new name changes nothing"
	ok "setting it does nothing" setfattr -n user.sdhash -v x \
		"$mnt/dir/renamed"
	exec 9>>"$mnt/dir/renamed"
	printf x >&9
	is "$(errno_of getx "$mnt/dir/renamed" user.sdhash)" ENODATA \
		"a file that is being written has none"
	exec 9>&-
	ok "unmount" unmount "$mnt"
	mount_kinfs "$src" "$mnt" -o digests=sise
	is "$(errno_of getx "$mnt/dir/renamed" user.sdhash)" ENODATA \
		"-o digests without it switches it off"
	ok "unmount" unmount "$mnt"
	rm "$src/dir/huge"
}

make_incoming
test_modes
test_set
test_strict
test_untouched
test_no_wait
test_many_waiting
test_permission
test_sdhash
finish
