#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What lies in a trash, a recycle bin, a snapshot, a store of old versions or a
# cache is in no listing of live files and no group unless it is asked for, is
# never the copy that is kept while a live one exists, and is not what another
# tree has.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
internal=(.Trash-1000/files .Trash/1000/files .local/share/Trash/files
	.Trashes/501 '$RECYCLE.BIN/S-1-5' '$Recycle.Bin/S-1-6' RECYCLER/S-1-5
	'#recycle' @Recycle .stversions .sync/Archive .snapshots/1/snapshot
	.zfs/snapshot/a '#snapshot/a' '~snapshot/a' lost+found @eaDir
	.dropbox.cache .thumbnails .ostree/objects home/u/.local/share/Trash/files
	.git/objects photos/@eaDir/x backup/.cache .TRASH-7)
live=(.Trash-can .Trashy Trash .local/share recycle cvs .github .gitignore
	snapshots .sync cache)

# Each is older than the copy that is live, and its path is as short.
make_tree() {
	local directory i=0
	for directory in "${internal[@]}" "${live[@]}"; do
		mkdir -p "$src/$directory" "$src/kept"
		gen 9000 "$((++i))" >"$src/$directory/f$i"
		cp "$src/$directory/f$i" "$src/kept/f$i"
		touch -d @1500000000 "$src/$directory/f$i"
		touch -d @1600000000 "$src/kept/f$i"
	done
	ln "$src/.Trash/1000/files/f2" "$src/linked"
}

paths() { # OPTION... [OPERAND...]: that could go
	"$KIN" groups --exact -0 "$@" | tr '\0' '\n' | sed "s,$mnt/,," | sort
}

names() {
	ls -A "$@"
}

planned() {
	"$KIN" dedup --how remove --json "$@" | perl -MJSON::PP -ne '
		my $o = decode_json($_);
		print "$o->{path}\n" if exists $o->{path}' |
		sed "s,$mnt/,," | sort
}

kept() { # NUMBER...: the files of these in the directory kept
	printf 'kept/f%s\n' "$@" | sort
}

test_groups() {
	local first=$((${#internal[@]} + 1)) all=$((${#internal[@]} + ${#live[@]}))
	local want
	# shellcheck disable=SC2046
	want=$(kept 2 $(seq "$first" "$all"))
	is "$(paths "$mnt")" "$want" \
		"a copy that is live may go for another one"
	is "$(planned "$mnt")" "$want" "by kin dedup, too"
	is "$("$KIN" groups --exact --json "$mnt" | tail -n 1 |
		perl -MJSON::PP -ne 'print decode_json($_)->{totals}{groups}')" \
		$((${#live[@]} + 1)) "nothing else is in a group"
	is "$(names "$mnt/.similar/.groups" | wc -l)" $((${#live[@]} + 1)) \
		"nor in the view of the mount"
	is "$(find "$mnt/.similar/.groups/" -type l | wc -l)" \
		$((2 * ${#live[@]} + 2)) "which has no link to it"
	is "$(paths --vcs "$mnt" | grep '^kept')" "$want" \
		"where it is asked for, no other live copy goes"
	is "$(paths --vcs "$mnt" | grep -vc '^kept')" $((${#internal[@]} - 1)) \
		"but what is not live"
	is "$(planned --vcs "$mnt")" "$(paths --vcs "$mnt")" "as by kin dedup"
	is "$(planned --vcs --keep newest "$mnt" | grep -c '^kept')" 0 \
		"by another rule, too"
	is "$(paths --vcs --keep "$mnt/.stversions" "$mnt" | grep -c f10)" 0 \
		"a directory that is to be kept takes no live copy"
}

test_asked_for() {
	cp "$src/.stversions/f10" "$src/.stversions/again"
	touch -d @1400000000 "$src/.stversions/again"
	mkdir "$src/.stversions/.git"
	cp "$src/.stversions/f10" "$src/.stversions/.git"
	"$KIN" rescan "$mnt" >/dev/null
	wait_idle "$mnt"
	is "$(paths "$mnt/.stversions")" .stversions/f10 \
		"a directory that is asked for counts, but for what is in it"
	is "$(paths "$mnt" "$mnt/.stversions" "$mnt/kept" | tr '\n' ' ')" \
		".stversions/again .stversions/f10 " \
		"and a live copy is kept before those"
	is "$(paths --across "$mnt/.stversions" --across "$mnt/kept" "$mnt" |
		tr '\n' ' ')" ".stversions/again .stversions/f10 " \
		"across directories, too"
	is "$(names "$mnt/.similar/.stversions/.groups" | wc -l)" 1 \
		"its view has its groups"
}

test_listings() {
	is "$(ls "$mnt/.similar/kept/f1")" "" "a listing of a live file lacks it"
	is "$(ls "$mnt/.similar/kept/f1/.all")" 100_f1 "but of all it does not"
	is "$(ls "$mnt/.similar/.Trash-1000/files/f1")" 100_f1 \
		"and one of what is in a trash has the live file"
	like "$(names "$mnt/.similar/kept" | tr '\n' ' ')" "^f2 f$((${#internal[@]} + 1))" \
		"files that are alike to nothing live are not shown"
	is "$(names "$mnt/.similar" | grep '^\.T' | tr '\n' ' ')" \
		".Trash .Trash-can .Trashy " \
		"nor directories of them, but for one with a file of another name"
	mkdir -p "$mnt/.Trash-0/files"
	mv "$mnt/kept/f30" "$mnt/.Trash-0/files/"
	wait_idle "$mnt"
	is "$(ls "$mnt/.similar/${live[$((29 - ${#internal[@]}))]}/f30")" "" \
		"a file that was put into the trash leaves the listings"
	mv "$mnt/.Trash-0/files/f30" "$mnt/kept/"
	wait_idle "$mnt"
	is "$(ls "$mnt/.similar/${live[$((29 - ${#internal[@]}))]}/f30")" 100_f30 \
		"and comes back"
}

missing() { # OPERANDS
	"$KIN" missing --json "$@" | perl -MJSON::PP -ne '
		my $o = decode_json($_);
		print join(" ", $o->{path}, $o->{score} // "-", $o->{near} // "-"),
			"\n" if exists $o->{path}' | sed "s,$mnt/,,g"
}

test_missing() {
	mkdir -p "$mnt/new" "$mnt/old/.Trash-0/files" "$mnt/old/.git" \
		"$mnt/new/.git"
	for name in only both; do
		gen 8000 "$((++seed))" >"$mnt/new/$name"
		cp "$mnt/new/$name" "$mnt/old/.Trash-0/files/$name"
	done
	cp "$mnt/new/both" "$mnt/old/both"
	gen 7000 77 >"$mnt/new/.git/object"
	cp "$mnt/new/.git/object" "$mnt/old/.git/object"
	wait_idle "$mnt"
	is "$(missing "$mnt/new" "$mnt/old")" \
		"new/only 100 old/.Trash-0/files/only" \
		"what only a trash has is missing"
	is "$(missing "$mnt/new" "$mnt/old/.Trash-0" | cut -d ' ' -f 1)" \
		"new/.git/object" "unless that trash is asked for"
	"$KIN" export "$mnt/old/.Trash-0" >"$T/trash"
	is "$(missing "$mnt/new" "$T/trash" | cut -d ' ' -f 1)" \
		"new/.git/object" "or its export"
}

seed=500
make_tree
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
test_groups
test_listings
test_asked_for
test_missing
ok "it unmounts" unmount "$mnt"
finish
