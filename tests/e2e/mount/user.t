#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Mounts of an ordinary user, and the ways to mount: options, mount(8), fstab.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

home=$T/home
src=$home/Documents
mnt=$home/kin
bin=$T/bin

user() { # COMMAND...: as a user that has nothing but a home
	as_nobody env -u XDG_STATE_HOME -u XDG_RUNTIME_DIR HOME="$home" "$@"
}

user_unmount() {
	poll 10 user fusermount3 -u "$mnt"
	poll 10 no_daemons
}

no_daemons() {
	[ -z "$(background_daemons)" ]
}

make_home() {
	mkdir -p "$src" "$mnt"
	gen_text 100 1 >"$src/a"
	cp "$src/a" "$src/b"
	chown -R 65534:65534 "$home"
}

test_user() {
	ok "an ordinary user mounts, and gets its prompt back" \
		user timeout 600 "$KINFS" "$src" "$mnt"
	ok "it is mounted" mounted "$mnt"
	like "$(grep " $mnt " /proc/self/mountinfo)" 'user_id=65534' \
		"as that user"
	ok "kin wait" user timeout 600 "$KIN" wait "$mnt"
	ok "a digest" user getfattr --only-values --absolute-names \
		-n user.sise "$mnt/a"
	is "$(user ls "$mnt/.similar/a")" 100_b "a listing"
	ok "a new file" user tee "$mnt/new" <<<new
	is "$(user getfattr --only-values --absolute-names -n user.xxh128 \
		"$mnt/new")" "$(echo new | xxhsum -H2 | cut -d' ' -f1)" \
		"has its digest"
	is "$(stat -c %u "$src/new")" 65534 "and belongs to the user"
	is "$(errno_of getx "$mnt/a" user.sise)" EACCES \
		"nobody else, not even root, looks in"
	ok "the catalog is in the user's state directory" \
		test -n "$(find "$home/.local/state/kinfs" -mindepth 1)"
	is "$(find "$home/.local/state/kinfs" -mindepth 1 \( -perm /077 \))" \
		"" "for nobody else to read"
	is "$(find "$src" | wc -l)" 4 "and nothing is in SOURCE"
	ok "it unmounts" user_unmount
}

test_state_home() {
	mkdir "$home/state"
	chown 65534:65534 "$home/state"
	ok "with XDG_STATE_HOME" user env "XDG_STATE_HOME=$home/state" \
		timeout 600 "$KINFS" "$src" "$mnt"
	ok "the catalog is there" test -d "$home/state/kinfs"
	ok "it unmounts" user_unmount
}

test_relative() {
	(cd "$home" && user timeout 600 "$KINFS" Documents kin)
	ok "relative paths work, in the background too" \
		user timeout 600 cmp "$mnt/a" "$src/b"
	ok "kin wait" user timeout 600 "$KIN" wait "$mnt"
	ok "it unmounts" user_unmount
}

test_read_only() {
	user timeout 600 "$KINFS" "$src" "$mnt" -o ro
	refused "-o ro refuses to write" "Read-only file system" \
		user touch "$mnt/x"
	ok "and has digests" user getfattr -n user.sise --absolute-names \
		"$mnt/a"
	ok "it unmounts" user_unmount
}

test_over_itself() {
	ok "a user mounts a directory over itself" \
		user timeout 600 "$KINFS" "$src" "$src"
	ok "kin wait" user timeout 600 "$KIN" wait "$src"
	is "$(user ls "$src/.similar/a")" 100_b "a listing"
	is "$(user getfattr --only-values --absolute-names -n user.xxh128 \
		"$src/a")" "$(gen_text 100 1 | xxhsum -H2 | cut -d' ' -f1)" \
		"a digest"
	poll 10 user fusermount3 -u "$src"
	ok "it unmounts" poll 10 no_daemons
}

test_failed_mount() {
	refused "a mount that fails says so before it goes to the background" \
		"^kinfs: .*nosuch" user timeout 600 "$KINFS" "$home/nosuch" "$mnt"
	refused "allow_other without leave" "user_allow_other|allow_other" \
		user timeout 600 "$KINFS" "$src" "$mnt" -o allow_other
	refused "a mount point of another user" "." user timeout 600 \
		"$KINFS" "$src" "$T/foreign"
	ok "no daemon stays" poll 10 no_daemons
}

test_foreground_signal() {
	local pid
	user "$KINFS" -f "$src" "$mnt" >"$T/said" 2>&1 &
	pids+=("$!")
	poll 20 mounted "$mnt"
	pid=$(background_daemons)
	kill "$pid"
	ok "a signal ends a daemon in the foreground" poll 10 gone "$pid"
	not_ok "and unmounts" mounted "$mnt"
}

test_allow_other() {
	mkdir -p "$T/shared" "$T/there"
	gen_text 50 3 >"$T/shared/file"
	mount_kinfs "$T/shared" "$T/there" -o allow_other
	ok "root's mount with allow_other serves others" \
		as_nobody cmp "$T/there/file" "$T/shared/file"
	ok "with digests" as_nobody getfattr -n user.sise \
		--absolute-names "$T/there/file"
	ok "unmount" unmount "$T/there"
	mount_kinfs "$T/shared" "$T/there"
	not_ok "without it, it does not" as_nobody cat "$T/there/file"
	ok "unmount" unmount "$T/there"
}

# mount(8) looks for the program where programs are installed, whatever PATH
# says; the options are those of fstab.
test_mount() {
	mount --bind "$bin" /usr/local/sbin
	cat >"$T/fstab" <<-FSTAB
		$T/shared $T/there fuse.kinfs noauto,ro,allow_other,db=$T/db-fstab 0 0
	FSTAB
	ok "mount -t fuse.kinfs" timeout 600 \
		mount -t fuse.kinfs -o "db=$T/db-mount" "$T/shared" "$T/there"
	ok "serves files" cmp "$T/there/file" "$T/shared/file"
	ok "umount" umount "$T/there"
	poll 10 no_daemons
	ok "mount -t fuse.kinfs over itself" timeout 600 mount -t fuse.kinfs \
		-o "db=$T/db-over" "$T/shared" "$T/shared"
	is "$(findmnt -n -o FSTYPE,SOURCE "$T/shared" | tr -s ' ')" \
		"fuse.kinfs $T/shared" "is a mount"
	ok "serves files" cmp "$T/shared/file" <(gen_text 50 3)
	ok "umount" umount "$T/shared"
	poll 10 no_daemons
	ok "mount -o drop_privileges, which mounts before kinfs starts" \
		timeout 600 mount -t fuse.kinfs \
		-o "drop_privileges,db=$T/db-drop" "$T/shared" "$T/there"
	ok "serves files" cmp "$T/there/file" "$T/shared/file"
	ok "umount" umount "$T/there"
	poll 10 no_daemons
	refused "not over itself" "without drop_privileges" timeout 600 \
		mount -t fuse.kinfs -o "drop_privileges,db=$T/db-drop" \
		"$T/shared" "$T/shared"
	fusermount3 -u "$T/shared"
	ok "serves files without a mount" cmp "$T/shared/file" <(gen_text 50 3)
	ln -s kinfs "$bin/mount.kinfs"
	mount --bind "$bin" /sbin
	ok "mount -t kinfs, with what mount(8) passes to a helper" \
		timeout 600 /bin/mount -v -n -t kinfs -o \
		"db=$T/db-mount,nofail,user,_netdev,x-systemd.automount" \
		"$T/shared" "$T/there"
	ok "serves files" cmp "$T/there/file" "$T/shared/file"
	refused "remount" "keeps its options.*mount it again" timeout 600 \
		/bin/mount -t kinfs -o remount,ro "$T/shared" "$T/there"
	ok "is still served" cmp "$T/there/file" "$T/shared/file"
	ok "umount" /bin/umount "$T/there"
	poll 10 no_daemons
	ok "mount -f mounts nothing" timeout 600 "$bin/mount.kinfs" \
		"$T/shared" "$T/there" -fn -o rw
	not_ok "nothing" mounted "$T/there"
	umount /sbin
	ok "mount from fstab" timeout 600 \
		mount -T "$T/fstab" "$T/there"
	ok "serves files" as_nobody cmp "$T/there/file" "$T/shared/file"
	refused "with its options" "Read-only" touch "$T/there/x"
	is "$(findmnt -n -o FSTYPE,SOURCE "$T/there" | tr -s ' ')" \
		"fuse.kinfs $T/shared" "findmnt names type and source"
	ok "umount" umount "$T/there"
	ok "the daemon ends" poll 10 no_daemons
}

[ -u "$(command -v fusermount3)" ] || bail \
	"an ordinary user can mount" "fusermount3 is not set-user-ID"
open_fuse_to_all
share_programs
make_home
mkdir "$T/foreign"
test_user
test_state_home
test_relative
test_over_itself
test_read_only
test_failed_mount
test_foreground_signal
test_allow_other
test_mount
finish
