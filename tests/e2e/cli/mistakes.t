#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Typical mistakes of somebody who has never seen the programs: the message has
# the program, what is wrong, and what to do.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2154
. tests/e2e/lib.sh
private_namespace

cd "$T" || exit 1
mkdir src mnt
gen_text 100 1 >src/a
echo text >file
export XDG_STATE_HOME=$T/state

mistake() { # MESSAGE COMMAND...: the first line that it prints is that
	local want=$1 status=0 have
	shift
	have=$("$@" 2>&1 >/dev/null) || status=$?
	[ "$status" -ne 0 ] || have="exit status 0: $have"
	is "$(head -n 1 <<<"$have")" "$want" "${*##*/}"
}

guess() { # MESSAGE COMMAND...: the last line is that
	local want=$1 have
	shift
	have=$("$@" 2>&1 >/dev/null)
	is "$(tail -n 1 <<<"$have")" "$want" "${*##*/}"
}

# ---- kinfs ----

mistake "kinfs: source and mount point missing; usage: kinfs SOURCE MOUNTPOINT [-o OPTIONS]" \
	"$KINFS"
mistake "kinfs: source 'nosuch': No such file or directory; give an existing directory" \
	"$KINFS" nosuch mnt
mistake "kinfs: mount point 'nosuch': No such file or directory; make the directory first" \
	"$KINFS" src nosuch
mistake "kinfs: mount point 'file': Not a directory; give an existing directory" \
	"$KINFS" src file
mistake "kinfs: option '-o': a value is missing; see 'kinfs -o help'" \
	"$KINFS" src mnt -o
mistake "kinfs: option 'threshold': a value is missing; it must be a number from 1 to 100" \
	"$KINFS" src mnt -o threshold
mistake "kinfs: option 'threshold=200': the value must be a number from 1 to 100" \
	"$KINFS" src mnt -o threshold=200
mistake "kinfs: option 'treshold=70': unknown; did you mean '-o threshold='?" \
	"$KINFS" src mnt -o treshold=70
mistake "kinfs: option 'threshold=70': unknown; did you mean '-o threshold='?" \
	"$KINFS" src mnt --threshold=70
mistake "kinfs: option 'alow_other': unknown; did you mean '-o allow_other'?" \
	"$KINFS" src mnt -o alow_other
mistake "kinfs: option 'frobnicate': unknown; see 'kinfs -o help'" \
	"$KINFS" src mnt -o frobnicate
mistake "kinfs: option 'simhash': unknown; digests=LIST has its names separated by ':', because ',' separates options" \
	"$KINFS" src mnt -o digests=sise,simhash

# ---- kin ----

mistake "kin: no command 'simlar'; did you mean 'similar'?" "$KIN" simlar file
mistake "kin: no command '--hepl'; did you mean '--help'?" "$KIN" --hepl
mistake "kin: no command 'frobnicate'; kin help lists them" "$KIN" frobnicate
mistake "kin: digest: unrecognized option '--recusive'" \
	"$KIN" digest --recusive src
guess "kin: digest: did you mean '--recursive'?" "$KIN" digest --recusive src
guess "kin: groups: did you mean '--min-size'?" "$KIN" groups --min_size=1 src
mistake "kin: digest: option requires an argument -- 'a'" "$KIN" digest -a
like "$("$KIN" digest -a siss file 2>&1)" \
	"^kin: digest: no digest 'siss'; there are sise, simhash, rdc, " \
	'a digest that there is not'
mistake "kin: src: Is a directory; -r looks into directories" "$KIN" digest src
mistake "kin: nosuch: No such file or directory" "$KIN" similar nosuch
for command in status wait check rescan watch; do
	mistake "kin: src: not in a kinfs mount; mount one with: kinfs SOURCE MOUNTPOINT" \
		"$KIN" "$command" src
done
for command in groups export; do
	mistake "kin: file: not in a kinfs mount, and not a directory that could be asked about" \
		"$KIN" "$command" file
done
mistake "kin: src: not in a kinfs mount; kin similar --of FILE DIRECTORY asks about any directory" \
	"$KIN" similar src
mistake "kin: report: -o FILE: where is it to be written?" "$KIN" report src
mistake "kin: file: not a file as kin export writes it" \
	"$KIN" similar --in file file

# ---- the machine ----

mount_kinfs "$T/src" "$T/mnt" -o "db=$T/db"
mkdir other
mistake "kinfs: catalog '$T/db' is in use by another kinfs (process ${pid_of[$T/mnt]}, mounted on '$T/mnt'); unmount that one, or use another place with -o db=DIR" \
	"$KINFS" src other -o "db=$T/db"
mistake "kin: cannot write the output: No space left on device" \
	bash -c '"$0" groups --json "$1" >/dev/full' "$KIN" "$T/mnt"
unmount "$T/mnt"

mkdir closed
chmod 700 closed
chmod 755 "$T" src
share_programs
mistake "kinfs: source '$T/closed': Permission denied" as_nobody \
	"$KINFS" closed mnt -o "db=$T/nobody"
mistake "kinfs: catalog '$T/nobody': Permission denied; say where to keep it with -o db=DIR" \
	as_nobody "$KINFS" src mnt -o "db=$T/nobody"
no_fuse() { # COMMAND...: where there is no /dev/fuse
	unshare -m bash -c 'mount -t tmpfs tmpfs /dev && "$@"' - "$@"
}
mistake "kinfs: fuse: device not found, try 'modprobe fuse' first" \
	no_fuse "$KINFS" src mnt -o "db=$T/db"
finish
