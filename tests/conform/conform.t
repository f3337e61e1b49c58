#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The mount does what a plain directory does: the program conform, see
# conform.h, runs on both, and what it writes down is compared.  Both lie in a
# filesystem made for the purpose, so that the results do not depend on what
# the machine has.
#
# GROUPS_WANTED="open rename" runs only these groups; KEEP=DIR keeps the texts.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

here=$PWD/tests/conform
CONFORM=$(realpath -m "${CONFORM:-build/tests/conform/conform}")
read -ra wanted <<<"${GROUPS_WANTED:-}"

# A user that mounts needs a name; see conform.h for its group.
as_user() { # COMMAND...
	setpriv --reuid=65534 --regid=65534 --groups=65534,4200 -- "$@"
}

make_lower() { # DIRECTORY SIZE INODES
	mkdir "$1"
	truncate -s "$2" "$1.image"
	mkfs.ext4 -q -N "$3" -m 0 -E lazy_itable_init=1 "$1.image" &&
		mount -o loop,acl,user_xattr "$1.image" "$1" && return
	bail "a filesystem for the test" "mount -o loop: it cannot be mounted"
}

# Where the program may write: one directory a run and side.
make_place() { # DIRECTORY OWNER
	mkdir -p "$1"
	chown "$2:$2" "$1"
}

record() { # FILE COMMAND...
	local file=$1
	shift
	# Through a pipe: a test may limit the size of its files.
	ok "$(basename "$file") has its results" timeout 600 bash -c \
		'set -o pipefail; "$@" | cat >"$0"' "$file" "$@"
}

# Its lines become ours.
judge() { # RUN
	local line
	while IFS= read -r line; do
		case $line in
		'ok - '*) report 0 "${line#ok - }" ;;
		'not ok - '*) report 1 "${line#not ok - }" ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <("$here/compare" "$1" "$T/$1.native" "$T/$1.mount" \
		"$here/differences" "$libfuse" "$(uname -r)" 2>&1 ||
		echo "not ok - $1: compare")
	[ -z "${KEEP:-}" ] || cp "$T/$1.native" "$T/$1.mount" "$KEEP"
}

# The program on the plain directory, on the mount, and the judgement.
run() { # RUN NATIVE MOUNT SOURCE COMMAND...
	local name=$1 native=$2 mount=$3 source=$4
	shift 4
	record "$T/$name.native" "$@" "$CONFORM" "$native" "$native" \
		"${wanted[@]}"
	record "$T/$name.mount" "$@" "$CONFORM" "$mount" "$source" \
		"${wanted[@]}"
	judge "$name"
}

# Root on root's mount, and a user there.
run_shared() {
	make_place "$lower/native/root" 0
	make_place "$lower/native/other" 65534
	make_place "$lower/source/root" 0
	make_place "$lower/source/other" 65534
	mount_kinfs "$lower/source" "$T/mnt" \
		-o allow_other,dev,suid
	run root "$lower/native/root" "$T/mnt/root" "$lower/source/root" env
	run other "$lower/native/other" "$T/mnt/other" \
		"$lower/source/other" as_user
	wait_idle "$T/mnt"
	ok "the daemon is alive" alive "$T/mnt"
	is "$(daemon_log "$T/mnt")" "" "and had nothing to say"
	ok "unmount" unmount "$T/mnt"
}

# An ordinary user on a mount of its own.
run_user() {
	make_place "$lower/native/user" 65534
	make_place "$lower/source-user" 65534
	make_place "$T/mnt-user" 65534
	make_place "$T/home" 65534
	ok "an ordinary user mounts" as_user env HOME="$T/home" timeout 600 \
		"$KINFS" "$lower/source-user" "$T/mnt-user" \
		-o "db=$T/home/db"
	run user "$lower/native/user" "$T/mnt-user" "$lower/source-user" \
		as_user
	ok "unmount" as_user fusermount3 -u "$T/mnt-user"
}

make_read_only() { # DIRECTORY
	local test
	for test in entries attributes files; do
		mkdir -p "$1/readonly.$test" && (
			cd "$1/readonly.$test" &&
				mkdir d full && echo something >f &&
				chmod 666 f && setfattr -n user.note -v 1 f &&
				echo x >full/x && ln -s f l &&
				echo secret >closed && chmod 0 closed
		)
	done
}

run_read_only() {
	make_lower "$T/read-only" 100M 1000
	make_read_only "$T/read-only"
	make_read_only "$lower/source-read-only"
	mount -o remount,ro "$T/read-only" ||
		bail "a read-only filesystem" "it cannot be mounted"
	mount_kinfs "$lower/source-read-only" "$T/mnt-read-only" \
		-o allow_other,ro
	local wanted=(readonly)
	run read-only "$T/read-only" "$T/mnt-read-only" \
		"$lower/source-read-only" env
	run read-only-other "$T/read-only" "$T/mnt-read-only" \
		"$lower/source-read-only" as_user
	ok "unmount" unmount "$T/mnt-read-only"
}

# One after the other in the same filesystem.
run_full() {
	local wanted=(space) run
	make_lower "$T/small" 20M 300
	make_place "$T/small/source" 65534
	for run in full-root full-other; do
		make_place "$T/small/native-$run" 65534
		make_place "$T/small/source/$run" 65534
	done
	mount_kinfs "$T/small/source" "$T/mnt-small" -o allow_other
	run full-root "$T/small/native-full-root" "$T/mnt-small/full-root" \
		"$T/small/source/full-root" env
	run full-other "$T/small/native-full-other" "$T/mnt-small/full-other" \
		"$T/small/source/full-other" as_user
	wait_idle "$T/mnt-small"
	ok "unmount" unmount "$T/mnt-small"
}

export -f as_user
[ -u "$(command -v fusermount3)" ] || bail \
	"an ordinary user can mount" "fusermount3 is not set-user-ID"
open_fuse_to_all
share_programs
cp "$CONFORM" "$T/bin/conform"
CONFORM=$T/bin/conform
libfuse=$("$KINFS" -V | sed -n 's/^libfuse //p')
lower=$T/lower
make_lower "$lower" 4G 400000
run_shared
run_user
run_read_only
run_full
finish
