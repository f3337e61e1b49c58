#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What changes a file, and what reads more than the kernel remembers, is decided
# by the file as it is, whatever the kernel remembers of it; and by the
# capabilities of the caller.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
b=70002
group=70010

# The kernel remembers attributes for as long as the test lasts.
mkdir -p "$src"
chmod 755 "$T" "$src"
mount_kinfs "$src" "$mnt" -o allow_other,timeout=100000,watch=no

as_b() {
	setpriv --reuid="$b" --regid="$b" --groups="$group" -- "$@"
}

# A file or directory of b's that the kernel knows, and that is root's by now.
lost() { # NAME
	case $1 in
	*.d) mkdir "$src/$1" && touch "$src/$1/secret" ;;
	*) echo content >"$src/$1" && setfattr -n user.own -v x "$src/$1" ;;
	esac
	chown "$b:$b" "$src/$1"
	chmod 700 "$src/$1"
	as_b stat "$mnt/$1" >/dev/null
	chown 0:0 "$src/$1"
	chmod "${2:-700}" "$src/$1"
}

state_of() { # NAME: what must not change
	stat -c '%a %u %g %s %X %Y' "$src/$1"
	getfattr --absolute-names -d "$src/$1" | tail -n +2
	getfacl -cp "$src/$1"
}

refuses() { # NAME COMMAND...: to the former owner; @ is the file
	local name=$1 before
	shift
	lost "$name"
	before=$(state_of "$name")
	not_ok "a former owner cannot: ${*//@/$name}" as_b "${@//@/$mnt/$name}"
	is "$(state_of "$name")" "$before" "and nothing has changed"
}

refuses mode chmod 666 @
refuses mode.d chmod 777 @
refuses group chgrp "$group" @
refuses times touch -d 2001-01-01 @
refuses now touch -c @
refuses size truncate -s 0 @
refuses set setfattr -n user.own -v y @
refuses remove setfattr -x user.own @
refuses acl setfacl -m "u:$b:rwx" @
refuses read getfattr --only-values -n user.own @
refuses list.d ls @
refuses open cat @

# ---- what an owner and a writer may do ----

echo content >"$src/own"
chown "$b:$b" "$src/own"
for command in 'chmod 2640 @' "chgrp $group @" 'touch -d 2001-01-01 @' \
	'touch @' 'truncate -s 3 @' 'setfattr -n user.own -v y @' \
	'getfattr -n user.own @' "setfacl -m u:$b:rwx @"; do
	# shellcheck disable=SC2086 # words
	ok "an owner can: $command" as_b ${command//@/$mnt/own}
done
is "$(stat -c '%u %g %s' "$src/own")" "$b $group 3" "and did"
not_ok "but not give the file away" as_b chown 0 "$mnt/own"
not_ok "nor to a group of others" as_b chgrp 1 "$mnt/own"
echo content >"$src/shared"
chmod 666 "$src/shared"
ok "a writer can truncate" as_b truncate -s 3 "$mnt/shared"
ok "and touch" as_b touch "$mnt/shared"
not_ok "and not set another time" as_b touch -d 2001-01-01 "$mnt/shared"

# ---- capabilities ----

with() { # CAPABILITY COMMAND...
	setpriv --reuid="$b" --regid="$b" --clear-groups \
		--inh-caps="+$1" --ambient-caps="+$1" -- "${@:2}"
}
touch "$src/named"
mkdir "$src/closed"
echo content >"$src/closed/file"
chmod 700 "$src/closed"
chmod 600 "$src/closed/file"
is "$(with dac_read_search cat "$mnt/closed/file")" content \
	"who may read everything, does"
is "$(with dac_read_search ls "$mnt/closed")" file "and lists everything"
ok "who may change owners, does" with chown chown "$b" "$mnt/shared"
is "$(stat -c %u "$src/shared")" "$b" "the owner is another"
ok "who acts as any owner, sets a mode" with fowner chmod 640 "$mnt/named"
ok "unmount" unmount "$mnt"
finish
