#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A user who keeps as many long answers as possible takes a bounded part of the
# daemon's memory, and others get theirs.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

fs=$T/fs
mnt=$T/mnt
b=70002
export most=80 # of listings of 4 MB

# A thousand copies with paths as long as paths may be.
make_copies() {
	local name
	name=$(printf 'd%.0s' {1..250})
	cd "$fs/b" && gen_text 40 1 >first || return
	for _ in {1..14}; do
		mkdir "$name" && cd "$name" || return
	done
	tee {1..1000} <"$fs/b/first" >/dev/null
}

# Opens the listing again and again, and keeps it open until it is told to end.
keep_listings() {
	setpriv --reuid="$b" --regid="$b" --clear-groups bash -c '
		n=0
		while [ "$n" -lt "$most" ] && exec {fd}<"$1"; do
			n=$((n + 1))
		done 2>"$2"
		echo "$n"
		read -r _' - "$mnt/.similar/b/first" "$T/said"
}

listing() { # UID
	as "$1" none ls "$mnt/.similar/pub/one"
}

resident_mb() {
	awk '/^VmRSS/ { print int($2 / 1024) }' \
		"/proc/$(daemon_pid "$mnt")/status"
}

mkdir -p "$fs/b" "$fs/pub"
(make_copies) || bail "long paths" "the filesystem below has none"
chown -R "$b" "$fs/b"
gen_text 60 2 | tee "$fs/pub/one" >"$fs/pub/two"
chmod 755 "$T"
mount_kinfs "$fs" "$mnt" -o allow_other
wait_idle "$mnt"
touch "$T/said" && chown "$b" "$T/said"
coproc keeper { keep_listings; }
holder=$!
read -r kept <&"${keeper[0]}"
between "$kept" 5 60 "a user may keep so many listings"
like "$(<"$T/said")" "Too many open files" "and is told why"
between "$(resident_mb)" 1 499 "little memory is taken"
like "$(listing 70001)" "two" "another user gets a listing"
like "$(listing 0)" "two" "so does root"
echo >&"${keeper[1]}"
wait "$holder"
ok "the user gets one when nothing is kept any more" listing "$b"
ok "unmount" unmount "$mnt"
finish
