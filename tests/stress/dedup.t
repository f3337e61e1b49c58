#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin dedup is killed at random moments, through a mount and with every method.
# Every content is where it was, undo gives every path its file back, and no
# temporary file stays.
# shellcheck source=tests/stress/lib.sh disable=SC1091
. tests/stress/lib.sh

disk=$T/disk
mkdir "$disk"
export XDG_STATE_HOME=$T/state

make_tree() { # contents in four copies each, of which two are alike
	local n copy
	mkdir -p "$disk/src"
	for ((n = 1; n <= 30; n++)); do
		gen $((n * 40000)) "$n" >"$disk/src/$n.0"
		for copy in 1 2 3; do
			mkdir -p "$disk/src/$copy"
			cp --reflink=never "$disk/src/$n.0" "$disk/src/$copy/$n"
		done
	done
}

contents() { # of what is there: each once
	(cd "$disk/src" && find . -type f ! -name '.kin-*' -exec md5sum '{}' + |
		cut -d' ' -f1 | sort -u)
}

paths() { # of all files, with their contents
	(cd "$disk/src" && find . -type f ! -name '.kin-*' -exec md5sum '{}' + |
		sort)
}

groups() {
	local n
	for ((n = 1; n <= 30; n++)); do
		printf '{"root":"%s","members":[{"score":100,"files":[' "$mnt"
		printf '{"path":"%s.0"},{"path":"1/%s"},{"path":"2/%s"},' \
			"$n" "$n" "$n"
		printf '{"path":"3/%s"}]}]}\n' "$n"
	done
}

killed() { # METHOD...: kin dedup runs and is killed after a random time
	local pid
	"$KIN" dedup "$@" --apply --journal "$T/journal" \
		"$T/groups" >"$T/said" 2>&1 &
	pid=$!
	sleep "0.$(printf %03d $((RANDOM % 400)))"
	kill -KILL "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	[ "$(contents)" = "$before_contents" ] || return
	case $* in
	*remove*) ;;
	*) [ "$(paths)" = "$before_paths" ] ;;
	esac
}

restored() {
	[ -s "$T/journal" ] || return 0
	"$KIN" dedup --undo "$T/journal" >"$T/said" 2>&1 || {
		cat "$T/said"
		return 1
	}
	[ "$(paths)" = "$before_paths" ] &&
		[ -z "$(find "$disk/src" -name '.kin-*')" ] &&
		[ -z "$(find "$disk/src" -type f -links +1)" ]
}

make_image() {
	truncate -s 400M "$T/image"
	mkfs.xfs -q "$T/image" >/dev/null 2>&1 &&
		mount -o loop "$T/image" "$disk" 2>/dev/null
}

if make_image; then
	methods=('--how hardlink' '--how remove' '--how reflink' --blocks)
else
	methods=('--how hardlink' '--how remove')
fi
make_tree
before_contents=$(contents)
before_paths=$(paths)
groups >"$T/groups"
mount_kinfs "$disk/src" "$mnt"
end=$((SECONDS + seconds))
for ((round = 0; round == 0 || SECONDS < end; round++)); do
	for method in "${methods[@]}"; do
		rm -f "$T/journal"
		# shellcheck disable=SC2086 # two words
		ok "round $round, $method: killed, every content is there" \
			killed $method || break 2
		ok "round $round, $method: and undone" restored || break 2
	done
done
ok "unmount" unmount "$mnt"
umount "$disk" 2>/dev/null
finish
