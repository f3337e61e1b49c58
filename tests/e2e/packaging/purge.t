#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# apt purge kinfs removes the catalogs and nothing that a user decided: journals
# of kin dedup, of another package, and the pairs to ignore.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

state=/var/lib/kinfs
mount -t tmpfs tmpfs /var/lib || bail "a /var/lib of its own" ""

make_mount() { # NAME
	mkdir -p "$T/$1"
	gen 20000 1 >"$T/$1/a"
	cp "$T/$1/a" "$T/$1/b"
	mkdir -p "$state/$1"
	mount_kinfs "$T/$1" "$T/mnt-$1" -o "db=$state/$1"
	wait_idle "$T/mnt-$1"
}

purge() {
	sh scripts/packaging/debian/kinfs.postrm purge
}

make_mount old
"$KIN" ignore "$T/mnt-old/a" "$T/mnt-old/b" >/dev/null
unmount "$T/mnt-old"
make_mount running
mkdir "$state/dedup"
ok "a copy is replaced" "$KIN" dedup --apply \
	--journal "$state/dedup/1.journal" "$T/mnt-running"
ok "purge" purge
is "$(cd "$state" && find . -type f ! -path './running/*' | sort | tr '\n' ' ')" \
	"./dedup/1.journal ./old/ignored " "journals and decisions are left"
ok "the catalog of a mount that runs stays" test -f "$state/running/data.mdb"
ok "what was done can be taken back" \
	"$KIN" dedup --undo "$state/dedup/1.journal"
is "$(stat -c %h "$T/running/b")" 1 "and is"
unmount "$T/mnt-running"
rm -r "$state/dedup" "$state/old/ignored"
ok "purge" purge
not_ok "without any of it nothing is left" test -e "$state"
finish
