#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin groups and kin dedup, with files that have several names, and filesystems
# that are mounted below SOURCE: all names of a file go or stay together, and
# the plan says what --apply does.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
share_programs

src=$T/src
mnt=$T/mnt
disk=$T/disk
export XDG_STATE_HOME=$T/state

dedup() { # ARGUMENT...: with a journal of its own
	mktemp -u "$T/journal-XXXXXX" >"$T/last"
	"$KIN" dedup --journal "$(cat "$T/last")" "$@"
}

undo() { # of the last one
	"$KIN" dedup --undo "$(cat "$T/last")"
}

names() { # DIRECTORY: which names are one file
	(cd "$1" && find . -type f -printf '%i %P\n' | sort -k 2 |
		awk '{ n[$1] = n[$1] (n[$1] ? "=" : "") $2 }
			END { for (i in n) print n[i] }' | sort | tr '\n' ' ')
}

totals() { # of groups --json on stdin
	perl -MJSON::PP -ne 'my $t = decode_json($_)->{totals} or next;
		print join(",", @$t{qw(groups files exact_bytes)})'
}

last_line() { # FILE: without what was done or would be
	sed -n 's/ would be replaced, which frees \(.*\)\.  Nothing.*/ \1/p
		s/ replaced, \(.*\) freed, .*/ \1/p' "$1"
}

# ---- names of one file ----

mkdir -p "$src"/{a,b,hidden}
for name in a/1 b/1 d; do # of whole blocks
	gen 20480 1 >"$src/$name"
done
touch -d 2001-01-01 "$src/a/1"
ln "$src/a/1" "$src/a/2"
ln "$src/b/1" "$src/b/2"
ln "$src/b/1" "$src/hidden/3"
chmod 700 "$src/hidden"
before=$(names "$src")
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
"$KIN" groups --exact --json "$mnt" >"$T/groups"
is "$(totals <"$T/groups")" 1,3,40960 "a file of several names counts once"
is "$(perl -MJSON::PP -ne 'my $g = decode_json($_); print join " ", map {
	join "=", $_->{path}, map { $_->{path} } @{$_->{links} || []}
	} @{$g->{members}[0]{files}} if $g->{members}' "$T/groups")" \
	"a/1=a/2 b/1=b/2=hidden/3 d" "a group lists all names of each"
is "$("$KIN" groups -0 "$mnt" | tr '\0' '\n' | sed "s,$mnt/,," | tr '\n' ' ')" \
	"b/1 b/2 hidden/3 d " "-0: all names of the copies that could go"
as_nobody "$KIN" groups --exact --json "$mnt" >"$T/others"
unlike "$(cat "$T/others")" hidden/3 "but none that the caller cannot see"
is "$(as_nobody "$KIN" groups -0 "$mnt" | tr '\0' '\n' |
	sed "s,$mnt/,," | tr '\n' ' ')" "d " \
	"and the file with such a name stays"
is "$(totals <"$T/others")" 1,3,20480 "and counts for nothing"

cat "$T/groups" "$T/groups" >"$T/twice"
dedup "$T/twice" >"$T/plan"
ok "all names of a file are replaced at once" \
	bash -c "'$KIN' dedup --apply --journal '$T/j' '$T/twice' >'$T/deed'"
is "$(last_line "$T/plan")" "$(last_line "$T/deed")" \
	"the plan says so, of a list that comes twice, too"
is "$(last_line "$T/deed")" "2 files 40K" "and the space is free"
is "$(names "$src")" "a/1=a/2=b/1=b/2=d=hidden/3 " "one file is left"
wait_idle "$mnt"
is "$("$KIN" groups --exact --json "$mnt" | totals)" 0,0,0 \
	"and one run is enough"
ok "undo" "$KIN" dedup --undo "$T/j"
is "$(names "$src")" "$before" "restores the hard links"
rescan "$mnt"
ok "removal" dedup --how remove --keep "$mnt/a" --apply "$mnt"
is "$(names "$src")" "a/1=a/2 " "removes all names"
ok "undo of it" undo
is "$(names "$src")" "$before" "restores the hard links, too"
rescan "$mnt"
ln "$src/b/1" "$T/elsewhere2"
rescan "$mnt"
is "$("$KIN" groups --exact --json "$mnt" | totals)" 1,3,20480 \
	"names outside of the mount count"
refused "a file with such a name is left alone" \
	"b/1: left alone: it has 1 other name" dedup --apply "$mnt"
is "$(names "$src")" "a/1=a/2=d b/1=b/2=hidden/3 " "with all its names"
unlike "$(dedup --apply "$mnt" 2>/dev/null)" "takes it back" \
	"where nothing was done there is nothing to undo"
rm "$T/elsewhere2"

# ---- the plan is the deed ----

rm -r "${src:?}"/*
mkdir "$src/u"
for name in a b i p x h1 u/x; do
	gen 12345 2 >"$src/$name"
done
ln "$src/h1" "$src/h2"
chmod 600 "$src/b"
chown nobody "$src/u" "$src/u/x"
setfattr -n user.tag -v v "$src/x"
chattr +i "$src/i" 2>/dev/null && chattr +a "$src/p"
rescan "$mnt"
dedup "$mnt" >"$T/plan" 2>"$T/plan-said"
dedup --apply "$mnt" 2>&1 >"$T/deed" | grep -v '^kin: [^ ]*/journal-' \
	>"$T/deed-said"
is "$(last_line "$T/plan")" "$(last_line "$T/deed")" \
	"the plan has the files and the space of the deed"
same "and its reasons" "$T/plan-said" "$T/deed-said"
is "$(wc -l <"$T/deed-said")" "$(lsattr "$src/i" 2>/dev/null |
	grep -q i && echo 5 || echo 3)" "one for each file that stays"
chattr -i "$src/i" 2>/dev/null
chattr -a "$src/p" 2>/dev/null
ok "unmount" unmount "$mnt"
rm -r "${src:?}"/*

# ---- filesystems below SOURCE ----

mkdir "$src"/{inner,lower,merged} "$disk"
mount -t tmpfs none "$src/inner"
gen 100000 3 >"$src/inner/x"
cp -p "$src/inner/x" "$src/inner/y"
cp -p "$src/inner/x" "$src/top"
echo "the only data of this file" >"$src/lower/f"
mount -t tmpfs none "$disk"
mkdir "$disk/upper" "$disk/work"
overlay=yes
mount -t overlay overlay -o "lowerdir=$src/lower,upperdir=$disk/upper,workdir=$disk/work" \
	"$src/merged" 2>/dev/null || overlay=
mount_kinfs "$src" "$mnt" -o cross
wait_idle "$mnt"
refused "no link leads to another filesystem" \
	"top: left alone: no copy is on its filesystem" dedup --apply "$mnt"
is "$(stat -c %h "$src/inner/x")" 2 "the copies of an inner one are linked"
rescan "$mnt"
if [ "$overlay" ]; then
	refused "what an overlay shows of a layer is no copy" \
		"left alone: it is the kept file itself" \
		dedup --how remove --keep "$mnt/inner" --apply "$mnt"
	touch "$src/merged/f"
	rescan "$mnt"
	refused "nor is what it may show" "no disk of its own and may show the other file" \
		dedup --how remove --apply "$mnt"
	ok "the layer has its file" test -s "$src/lower/f"
	ok "and the overlay, too" test -s "$src/merged/f"
else
	skip "what an overlay shows of a layer is no copy" "no overlayfs here"
fi
not_ok "a copy on another filesystem is removed" test -e "$src/top"
ok "unmount" unmount "$mnt"
[ ! "$overlay" ] || umount -l "$src/merged"
umount -l "$src/inner"
umount -l "$disk"

# ---- btrfs ----

truncate -s 400M "$T/image"
if mkfs.btrfs -q "$T/image" >/dev/null 2>&1 &&
	mount -o loop "$T/image" "$disk" 2>/dev/null &&
	btrfs subvolume create "$disk/v1" >/dev/null &&
	btrfs subvolume create "$disk/v2" >/dev/null; then
	pair() { # FILE FILE ARGUMENT...: share the blocks of these two
		printf '{"members":[{"score":100,"files":[{"path":"%s"}]},%s}]}\n' \
			"$1" "{\"score\":80,\"files\":[{\"path\":\"$2\"}]" >"$T/pair"
		dedup --blocks "${@:3}" "$T/pair"
	}
	gen 409600 4 >"$disk/v1/f"
	cat "$disk/v1/f" >"$disk/v2/f"
	sync -f "$disk"
	like "$(pair "$disk/v1/f" "$disk/v2/f" --apply)" \
		"^1 file shares blocks" "subvolumes share blocks"
	like "$(pair "$disk/v1/f" "$disk/v2/f" --json | head -1)" \
		'"shared_before": 409600' "all of them"
	touch "$disk/v1/nocow"
	if chattr +C "$disk/v1/nocow" 2>/dev/null; then
		cat "$disk/v1/f" >"$disk/v1/nocow"
		refused "a file that is not copied on write is told as that" \
			"nocow: left alone: .*chattr" \
			pair "$disk/v1/f" "$disk/v1/nocow" --apply
	else
		skip "a file that is not copied on write is told as that" \
			"no such attribute here"
	fi
	umount "$disk"
else
	skip "subvolumes share blocks" "no btrfs here"
fi

# ---- as many links as there can be ----

truncate -s 200M "$T/image"
if mkfs.ext4 -q -F -N 70000 "$T/image" >/dev/null 2>&1 &&
	mount -o loop "$T/image" "$disk" 2>/dev/null; then
	mkdir "$disk/l"
	gen 2000 5 >"$disk/l/0"
	perl -e 'link("$ARGV[0]/0", "$ARGV[0]/$_") || die for 1 .. 64998' \
		"$disk/l" || bail "links cannot be made"
	cp -p "$disk/l/0" "$disk/long-name-1"
	cp -p "$disk/l/0" "$disk/long-name-2"
	cp -p "$disk/l/0" "$disk/long-name-3"
	printf '{"members":[{"score":100,"files":[{"path":"%s"},{"path":"%s"},
		{"path":"%s"},{"path":"%s"}]}]}' "$disk/l/0" \
		"$disk/long-name-1" "$disk/long-name-2" "$disk/long-name-3" |
		tr -d '\n' >"$T/groups"
	refused "a copy for which there is no link any more stays" \
		"long-name-[23]: left alone: .*Too many links" \
		dedup --apply "$T/groups"
	is "$(stat -c %h "$disk/l/0") $(stat -c %h "$disk/long-name-3")" \
		"65000 1" "the others are linked"
	ok "undo" undo
	is "$(stat -c %h "$disk/l/0") $(stat -c %h "$disk/long-name-3")" \
		"64999 1" "takes it back"
	umount "$disk"
else
	skip "a copy for which there is no link any more stays" "no ext4 here"
fi
finish
