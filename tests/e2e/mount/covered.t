#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What a mount hides, and what it inherits from the shell, is told or put right.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt

said() { # OPTIONS...: what the mount prints
	"$KINFS" "$src" "$mnt" -o "db=$T/db" "$@" 2>&1
}

test_hidden() {
	is "$(said)" "" "of an empty mount point nothing is said"
	like "$(said)" "something is mounted on '$mnt' already" \
		"of a second mount on one point it is"
	is "$(grep -c " $mnt " /proc/self/mountinfo)" 1 \
		"its catalog is in use, so it is not made"
	umount "$mnt"
	echo x >"$mnt/file"
	like "$(said)" "'$mnt' is not empty" "of a full mount point, too"
	umount "$mnt"
	is "$(said -o nonempty)" "" "unless it is meant"
	umount "$mnt"
	rm "$mnt/file"
	mkdir "$src/.similar"
	like "$(said)" "'.similar' of '$src' is not seen in the mount.*similar_name=" \
		"a real entry that is hidden"
	ok "and it is mounted" mounted "$mnt"
	umount "$mnt"
	rmdir "$src/.similar"
}

# Only with CAP_SYS_RESOURCE a limit can be raised.
test_file_size() {
	local want="can grow beyond 8192 bytes: ulimit -f"
	(ulimit -f 8 && prlimit --pid $BASHPID --fsize=unlimited:unlimited) \
		2>"$T/why" && want='^$'
	like "$(ulimit -f 8 && said)" "$want" \
		"ulimit -f of the shell that mounts is lifted, or told of"
	ok "it is mounted" mounted "$mnt"
	if [ "$want" = '^$' ]; then
		head -c 100000 /dev/zero >"$mnt/large"
		is "$(stat -c %s "$src/large")" 100000 \
			"others write what they like"
	fi
	umount "$mnt"
}

mkdir -p "$src" "$mnt"
echo x >"$src/a"
test_hidden
test_file_size
finish
