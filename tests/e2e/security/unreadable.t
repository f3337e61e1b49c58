#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Files that a user cannot read have no influence on what .similar tells that
# user.  Two trees differ in the directory "closed" alone; what nobody sees of
# them is compared, and is not nothing.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

# ---- the trees ----

# A closed file shares some values with a directory: one more place.
make_guess() { # TREE
	local n
	mkdir -p "$1/guess/asked"
	echo filler | sha512sum >"$1/guess/filler"
	mkdir "$1"/guess/d{1..32}
	for n in {1..32}; do
		echo "$1/guess/d$n/filler =$1/guess/filler"
	done | gen_files
	cp "$1/guess/filler" "$1/guess/asked"
	echo guess | sha512sum >"$1/guess/asked/guess"
}

hide_guess() { # TREE
	head -c 100 "$1/guess/asked/guess" >"$1/closed/key"
}

# One file less than can be told, all of them unreadable, and a last one.
make_many() { # TREE
	local n
	mkdir "$1/many"
	gen_text 100 2 >"$1/many/probe"
	for n in {1..511}; do
		echo "$1/many/v$n =$1/many/probe 1:7$n"
	done | gen_files
	chmod 0 "$1"/many/v*
}

hide_many() { # TREE
	{ cat "$1/many/probe"; echo "a letter"; } >"$1/closed/letter"
}

# Readable files are worse matches than very many unreadable ones.
make_crowd() { # TREE
	local n
	mkdir "$1/crowd"
	gen_text 100 3 >"$1/crowd/probe"
	for n in 1 2 3; do
		edit_text 8 "$n" <"$1/crowd/probe" >"$1/crowd/edited$n"
	done
}

hide_crowd() { # TREE
	local n
	for n in {1..700}; do
		echo "$1/closed/crowd$n =$1/crowd/probe 1:8$n"
	done | gen_files
}

# Most of two files is a text that very many unreadable files begin with.
make_licence() { # TREE
	local n
	mkdir "$1/licence"
	gen_text 70 4 >"$T/licence"
	for n in 1 2; do
		{ cat "$T/licence"; gen_text 30 "4$n"; } >"$1/licence/file$n"
	done
}

hide_licence() { # TREE
	local n
	for n in {1..500}; do
		echo "$1/closed/source$n =$T/licence 20:5$n"
	done | gen_files
}

# A passage of two files is in very many unreadable ones, too.
make_passage() { # TREE
	local n
	mkdir "$1/passage"
	gen_text 400 6 >"$T/passage"
	for n in 1 2; do
		{ cat "$T/passage"; gen_text 900 "6$n"; } >"$1/passage/file$n"
	done
}

hide_passage() { # TREE
	local n
	for n in {1..250}; do
		echo "$1/closed/passage$n =$T/passage 1:9$n"
	done | gen_files
}

# Readable copies are found behind unreadable ones that came before.
make_copies() { # TREE
	local n
	mkdir -p "$1/copies/one" "$1/copies/other"
	for n in 1 2 3 4; do
		gen_text 40 "6$n" >"$1/copies/one/f$n"
		cp "$1/copies/one/f$n" "$1/copies/other/f$n"
	done
}

hide_copies() { # TREE
	local k
	mkdir "$1"/closed/copies{1..80}
	for k in {1..80}; do
		printf "$1/closed/copies$k/f%d 40:6%d\\n" 1 1 2 2 3 3 4 4
	done | gen_files
}

scenes="guess many crowd licence passage copies"

make_trees() {
	local scene tree
	for tree in "$T/plain" "$T/secret"; do
		mkdir -p "$tree/closed"
		chmod 700 "$tree/closed"
	done
	# What was there first comes first, in the catalog and in the index.
	for scene in $scenes; do
		[ "$scene" != copies ] || hide_copies "$T/secret"
		make_"$scene" "$T/plain"
		cp -a "$T/plain/$scene" "$T/secret/$scene"
		[ "$scene" = copies ] || hide_"$scene" "$T/secret"
	done
}

# ---- what nobody sees ----

# Names, targets and states of all listings of the scene.
observe_scene() { # MOUNTPOINT SCENE
	# shellcheck disable=SC2016 # of the shell within
	as_nobody bash -c '
		cd "$1" || exit
		files=("$2"/*)
		lists=("$2")
		cd .similar || exit
		for file in "${files[@]}"; do
			lists+=("$file/.dirs")
			[ ! -f "../$file" ] || [ ! -r "../$file" ] ||
				lists+=("$file"{,/.within,/.contains,/.all,/.shares})
		done
		ls -U "${lists[@]}"
		find "${lists[@]}" -maxdepth 1 -type l -printf "%p %l\n"
		getfattr -n user.kinfs.state "${lists[@]}"' - "$1" "$2" 2>&1 |
		sed "s,$1,MOUNT,g"
}

test_scenes() {
	local scene
	for scene in $scenes; do
		observe_scene "$T/m1" "$scene" >"$T/$scene.plain"
		observe_scene "$T/m2" "$scene" >"$T/$scene.secret"
		is "$(diff "$T/$scene.plain" "$T/$scene.secret" | head -20)" \
			"" "$scene: unreadable files change nothing"
	done
	is "$(as_nobody ls "$T/m2/.similar/crowd/probe" | wc -l)" 3 \
		"three readable ones are listed"
	is "$(as_nobody ls "$T/m2/.similar/licence/file1" | wc -l)" 1 \
		"a text that is common elsewhere makes these two alike"
	is "$(as_nobody ls "$T/m2/.similar/copies/one/.dirs")" 100_other \
		"a directory is found behind its copies"
	is "$(find "$T/m2/.similar/licence/file1/" -type l | wc -l)" 0 \
		"for root that text is common"
	is "$(as_nobody ls "$T/m2/.similar/passage/file1/.shares" |
		cut -d_ -f2-)" file2 \
		"a passage that is common elsewhere is one of these two"
	is "$(find "$T/m2/.similar/passage/file1/.shares/" -type l | wc -l)" \
		0 "for root that passage is common"
}

# ---- directories that can be entered and not be listed ----

seen() { # PATH below .similar
	as_nobody ls -U "$T/m3/.similar/$1" 2>/dev/null | cut -d_ -f2- |
		sort | tr '\n' ' '
}

sees_more() { # than the public file
	[ "$(seen asked)" != "public " ]
}

test_drop_box() {
	local tree=$T/drop name
	mkdir -p "$tree/box/inner" "$tree/open" "$tree/names"
	gen_text 60 9 >"$tree/asked"
	cp "$tree/asked" "$tree/box/unguessable"
	cp "$tree/asked" "$tree/box/inner/deeper"
	cp "$tree/asked" "$tree/open/public"
	ln "$tree/asked" "$tree/box/link"
	chmod 711 "$tree/box"
	mkdir -p "$T/m3"
	mount_kinfs "$tree" "$T/m3" -o allow_other
	wait_idle "$T/m3"
	is "$(seen asked)" "public " "names that nobody could list do not show"
	is "$(seen "")" "asked open " "nor in the tree"
	is "$(seen open/.dirs)" "" "nor the directories"
	is "$(find "$T/m3/.similar/asked/" -type l | wc -l)" 3 "root sees all"
	ok "a file known by its name is a file" as_nobody \
		cat "$T/m3/box/unguessable"
	is "$(seen box/unguessable)" "asked public " \
		"and what resembles it is told"
	name=$(find "$T/m3/.similar/asked/" -name '*unguessable*' -printf %f)
	not_ok "no link of such a name is found" as_nobody \
		test -L "$T/m3/.similar/asked/$name"
	chmod 755 "$T/m3/box"
	poll 5 sees_more
	is "$(seen asked)" "deeper public unguessable " \
		"a directory that is opened shows"
	chmod 711 "$T/m3/box"
	not_ok "one that is closed does not, at once" as_nobody \
		test -L "$T/m3/.similar/asked/$name"
	unmount "$T/m3"
}

make_trees
mkdir -p "$T/m1" "$T/m2"
for n in 1:plain 2:secret; do
	mount_kinfs "$T/${n#*:}" "$T/m${n%:*}" -o allow_other
	wait_idle "$T/m${n%:*}"
done
test_scenes
unmount "$T/m1"
unmount "$T/m2"
test_drop_box
finish
