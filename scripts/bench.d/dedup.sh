# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# Two versions of a real tree on XFS and btrfs: the space that kin dedup sets
# free, beside jdupes, rmlint and duperemove.  Each one works on the same image;
# the filesystem says what is free, and every content is compared afterwards.
# Needs root.  Part of scripts/bench, which reads this file.

dedup_tools=(jdupes rmlint duperemove duperemove-4k kin kin-blocks)

# dedup_sample: files of the tree, the same ones in every run, so many bytes
dedup_sample()
{
	# shellcheck disable=SC2086 # several words
	find $dedup_tree -xdev -type f -readable -size +0 -size -40960k \
		-printf '%s\t%p\0' | LC_ALL=C sort -z -k2 |
		MIB=$dedup_mib perl -0ne 'chomp; my ($size, $path) = split /\t/, $_, 2;
			next if unpack("%32C*", $path) % 4;
			last if ($sum += $size) > $ENV{MIB} << 20;
			print "$path\0"'
}

# dedup_edit DIRECTORY: the second version.  Of twenty files one has a line more
# in the middle, one at the end, and in one a word is changed.
dedup_edit()
{
	find "$1" -type f -print0 | LC_ALL=C sort -z | perl -0ne '
		chomp;
		my $kind = $n++ % 20;
		next unless $kind == 0 || $kind == 7 || $kind == 14;
		open my $f, "+<", $_ or die "$_: $!";
		my $half = int((-s $f) / 2);
		my $text = do { local $/; <$f> };
		substr($text, $half, $kind == 14 ? 8 : 0) = "version2";
		$text .= "one more line\n" if $kind == 7;
		seek $f, 0, 0;
		print $f $text'
}

# dedup_master TYPE: the image that every tool gets a copy of
dedup_master()
{
	truncate -s "$((dedup_mib * 6 + 1024))M" "$top/dedup/master"
	"mkfs.$1" -q "$top/dedup/master" >/dev/null || return
	mount -o loop "$top/dedup/master" "$top/dedup/disk" || return
	mkdir "$top/dedup/disk/tree"
	cd "$top/dedup/disk/tree" || return
	mkdir v1
	dedup_sample | tar -c --null -T - 2>/dev/null | tar -x -C v1
	cp -a --reflink=never v1 v2
	dedup_edit v2
	tar -c --sort=name -C v1 . | head -c 100M >v1.tar
	tar -c --sort=name -C v2 . | head -c 100M >v2.tar
	dedup_contents >"$top/dedup/contents"
	cd "$top" || return
	umount "$top/dedup/disk"
}

dedup_contents()
{
	# rmlint leaves a stamp of its own.
	find . -type f ! -name 'rmlint.*' -print0 | LC_ALL=C sort -z |
		xargs -0 md5sum | md5sum
}

# dedup_mount TYPE IMAGE: a mount namespace somewhere may still have the image
# that it is a copy of, so the copy gets a number of its own.
dedup_mount()
{
	local options=loop

	case $1 in
	xfs) options=loop,nouuid ;;
	btrfs) btrfstune -f -m "$2" >/dev/null || return ;;
	esac
	mount -o "$options" "$2" "$top/dedup/disk"
}

dedup_used()
{
	sync -f "$top/dedup/disk"
	sync -f "$top/dedup/disk"
	df --output=used -B1 "$top/dedup/disk" | tail -n 1
}

# What a tool does, in the tree.
dedup_run_jdupes()
{
	jdupes -q -r -B .
}

dedup_run_rmlint()
{
	rmlint -T df -c sh:clone -o "sh:$top/dedup/rmlint.sh" . >/dev/null &&
		sh "$top/dedup/rmlint.sh" -d -q -x
}

dedup_run_duperemove()
{
	duperemove -r -d .
}

dedup_run_duperemove-4k()
{
	duperemove -r -d -b 4096 .
}

# dedup_kin GROUPS_OPTION DEDUP_OPTION...: with the mount and all hashing
dedup_kin()
{
	local daemon start status=0

	"$kinfs" -f "$PWD" "$top/dedup/mount" -o "db=$top/dedup/catalog" &
	daemon=$!
	until mountpoint -q "$top/dedup/mount"; do
		kill -0 "$daemon" || return
		sleep 0.1
	done
	"$kin" wait "$top/dedup/mount" >/dev/null
	# shellcheck disable=SC2086 # a word or none
	"$kin" groups --json $1 "$top/dedup/mount" >"$top/dedup/groups"
	start=$(now_us)
	"$kin" dedup "${@:2}" --apply --journal "$top/dedup/journal" \
		"$top/dedup/groups" 2>"$top/dedup/left" || status=$?
	echo $(($(now_us) - start)) >"$top/dedup/own"
	fusermount3 -u "$top/dedup/mount"
	wait "$daemon"
	rm -rf "$top/dedup/catalog" "$top/dedup/journal"
	# 1: something was left alone, such as what has changed.
	[ "$status" -le 1 ]
}

dedup_run_kin()
{
	dedup_kin --exact --how reflink
}

dedup_run_kin-blocks()
{
	dedup_kin '' --blocks
}

# dedup_tool TYPE TOOL
dedup_tool()
{
	local before us own freed right=same

	cp --sparse=always "$top/dedup/master" "$top/dedup/image"
	dedup_mount "$1" "$top/dedup/image" || return
	cd "$top/dedup/disk/tree" || return
	before=$(dedup_used)
	rm -f "$top/dedup/own"
	us=$(timed "dedup_run_$2") || us=0
	own=$us
	[ ! -e "$top/dedup/own" ] || own=$(<"$top/dedup/own")
	freed=$((before - $(dedup_used)))
	[ "$(dedup_contents)" = "$(<"$top/dedup/contents")" ] ||
		right=DAMAGED
	cd "$top" || return
	umount "$top/dedup/disk"
	rm "$top/dedup/image"
	printf '%-8s %-14s %10.1f %10.1f %10.1f  %s\n' "$1" "$2" \
		"$(awk "BEGIN { print $freed / 1048576 }")" \
		"$(awk "BEGIN { print $us / 1e6 }")" \
		"$(awk "BEGIN { print $own / 1e6 }")" "$right"
	note dedup "$1 $2" freed "$freed" bytes
	note dedup "$1 $2" time "$us" us
}

bench_dedup()
{
	local type tool name

	[ "$(id -u)" -eq 0 ] && [ -e /dev/fuse ] || return 0
	mkdir -p dedup/disk dedup/mount
	printf '\ntwo versions of %d MiB of %s\n' "$dedup_mib" "$dedup_tree"
	printf '%-8s %-14s %10s %10s %10s  %s\n' '' '' 'MiB freed' s \
		'dedup s' contents
	for type in xfs btrfs; do
		command -v "mkfs.$type" >/dev/null || continue
		dedup_master "$type" || die "dedup: no $type here"
		for tool in "${dedup_tools[@]}"; do
			name=${tool%-*}
			[ "$name" = kin ] || command -v "$name" >/dev/null ||
				continue
			dedup_tool "$type" "$tool" || die "dedup: $tool"
		done
		rm dedup/master
	done
}
