#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kinfs as administrators mount it: by mount(8) and fstab(5).
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all

mkdir -p "$T/src" "$T/sbin"
gen_text 100 1 >"$T/src/a"
cp "$T/src/a" "$T/src/b"
chmod 755 "$T/src"

# mount(8) looks for its helpers in /sbin.
share_programs
ln -s "$KINFS" "$T/sbin/mount.kinfs"
ln -s "$KINFS" "$T/sbin/kinfs" # as mount.fuse3 finds it
if ! mount -t overlay -o "lowerdir=$T/sbin:/usr/sbin" overlay /usr/sbin; then
	skip 'mount(8) with kinfs as its helper' 'this kernel has no overlayfs'
	finish
fi

add() { # TYPE NAME OPTIONS: a line of fstab
	mkdir -p "$T/$2"
	printf '%s\t%s\t%s\t%s,db=%s\t0 0\n' "$T/src" \
		"${T// /\\040}/${2// /\\040}" "$1" "$3" "$T/db-${2// /-}" >>"$T/fstab"
}

add kinfs later noauto,user,nofail,x-systemd.automount,_netdev
add kinfs net nofail,_netdev,x-systemd.automount,x-systemd.requires=a.mount
add fuse.kinfs 'two words' ro,nosuid,nodev,relatime,threshold=70
chown 65534:65534 "$T/later"

mount_all() {
	mount -a -T "$T/fstab"
}

not_running() { # WORD: no kinfs has it in its command line
	! background_daemons | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline"
	done | grep -qF -- "$1"
}

# ---- mount -a ----

ok 'mount -a' mount_all
ok '... mounts the type kinfs' mounted "$T/net"
ok '... and fuse.kinfs' mountpoint -q "$T/two words"
not_ok '... but not what is noauto' mounted "$T/later"
is "$(findmnt -n -o FSTYPE,SOURCE "$T/net" | tr -s ' ')" \
	"fuse.kinfs $T/src" 'the type and source are as for any mount'
refused 'ro is passed on' 'Read-only' touch "$T/two words/c"
ok 'the mount answers' timeout 600 "$KIN" wait "$T/net"
is "$(getx "$T/net/a" user.xxh128)" "$(digest "$T/src/a" xxh128)" \
	'... with digests'
mount_all
is "$?" 0 'mount -a again does nothing'
is "$(mounts_below "$T" | grep -c net)" 1 '... and mounts nothing twice'

# ---- by hand ----

refused 'remount is refused, and the message says what to do' \
	"kinfs: option 'remount': .*unmount it and mount it again" \
	mount -T "$T/fstab" -o remount,threshold=80 "$T/net"
ok '... and the mount is as it was' timeout 600 "$KIN" status "$T/net"
ok 'mount -f only pretends' mount -f -T "$T/fstab" "$T/later"
not_ok '... so nothing is mounted' mounted "$T/later"
refused 'an option that is none is refused' "option 'treshold=1'.*threshold" \
	mount -T "$T/fstab" -o treshold=1 "$T/later"
ok 'mount MOUNTPOINT' mount -T "$T/fstab" "$T/later"
ok '... mounts what is noauto' mounted "$T/later"
not_ok '... with a daemon of its own' not_running "$T/db-later"
ok 'umount' umount "$T/later"
ok '... ends the daemon' poll 20 not_running "$T/db-later"

# ---- by an ordinary user ----

mkdir -p "$T/user"
chown 65534:65534 "$T/user"
rm -r "$T/db-later"
sed "s|db=$T/db-later|db=$T/user/db|" "$T/fstab" >"$T/etc-fstab"
user_mounts() {
	mount --bind "$T/etc-fstab" /etc/fstab &&
		as_nobody mount "$T/later"
}
if [ -u "$(command -v mount)" ]; then
	ok 'a user mounts what fstab(5) has with user' user_mounts
	ok '... as the user' test "$(stat -c %u "$T/user/db")" = 65534
	ok '... and unmounts it' as_nobody umount "$T/later"
else
	skip 'a user mounts what fstab(5) has with user' 'mount is not setuid'
fi

ok 'umount, of two at once' umount "$T/net" "$T/two words"
ok 'in the end no daemon is left' poll 20 not_running "$T/"
finish
