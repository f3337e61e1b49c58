#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# umount returns before the daemon has ended, and the next one waits for it.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
db=$T/db
mkdir "$src" "$mnt"
gen_text 100 1 >"$src/text"

start() { # in the background, as a user does
	"$KINFS" "$src" "$mnt" -o "db=$db" >>"$T/said" 2>&1
}

gone_all() {
	[ -z "$(background_daemons)" ]
}

# ---- again and again ----

: >"$T/said"
ok "the first mount" start
refused=0
for ((i = 0; i < ${TRIES:-25}; i++)); do
	echo "$i" >"$mnt/changed" # something to be written at the end
	poll 20 fusermount3 -u "$mnt" 2>/dev/null && start ||
		refused=$((refused + 1))
	mounted "$mnt" || start
done
is "$refused$(cat "$T/said")" 0 "unmounted and mounted at once, many times"
is "$(cat "$mnt/changed")" "$((i - 1))" "the mount works"

# ---- somebody holds it for longer ----

# A file that is open keeps the daemon of a mount that is not to be seen.
exec {held}<"$mnt/text"
holder=$(background_daemons)
fusermount3 -u -z "$mnt"
(
	sleep 1
	exec {held}<&-
) &
exec {held}<&-
ok "a mount waits for one that was unmounted lazily" start
wait
not_ok "which is another process" test "$(background_daemons)" = "$holder"

exec {held}<"$mnt/text"
holder=$(background_daemons)
fusermount3 -u -z "$mnt"
: >"$T/said"
not_ok "when it does not end there is no mount" start
like "$(cat "$T/said")" "in use by another kinfs .*process $holder, .*$mnt" \
	"and who has the catalog is said"
exec {held}<&-
ok "then it does end" poll 20 gone_all
ok "and the catalog is free" start
ok "the mount is unmounted" poll 20 fusermount3 -u "$mnt"
ok "nothing runs any more" poll 20 gone_all
finish
