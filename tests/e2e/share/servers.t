#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Four servers behind a fifth one, over postgres_fdw: the same answers, and one
# of the four may be gone.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/helper/share.sh disable=SC1091
. tests/e2e/helper/share.sh

make_tree "$T/one" 1 60
mkdir "$T/two"
for i in {0..59}; do
	{ cat "$T/one/f$i" && echo " changed on the other host $i"; } \
		>"$T/two/v$i"
done
make_tree "$T/one/same" 9 20
cp -r "$T/one/same" "$T/two/same"
mount_kinfs "$T/one" "$T/m1"
mount_kinfs "$T/two" "$T/m2"
"$KIN" wait "$T/m1" 2>"$T/output"
"$KIN" wait "$T/m2" 2>"$T/output"
for server in a one two three four; do
	start_server "$server"
done
servers=()
for server in one two three four; do
	servers+=(--server "$(db "$server")")
done
ok "init with four servers" \
	"$KIN_SHARE" init --db "$(db a)" "${servers[@]}"
ok "the first host" publish a "$T/m1" --label one
ok "the second" publish a "$T/m2" --label two
total=0
least=1000000
for server in one two three four; do
	rows=$(sql "$server" 'SELECT count(*) FROM kin_posting')
	total=$((total + rows))
	[ "$rows" -ge "$least" ] || least=$rows
done
is "$total" "$(sql a 'SELECT count(*) FROM kin_posting')" \
	"each posting is on one of them"
between "$least" $((total / 8)) "$total" "in about equal numbers"
published a >"$T/before"
ok "publishing again" publish a "$T/m1" --label one --refill
published a >"$T/after"
same "changes nothing" "$T/after" "$T/before"
ok "check" "$KIN_SHARE" check --db "$(db a)" "$T/m1"

ask() { # FILE: the path of the best hit on the second host
	everywhere "$(db a)" "$1" >"$T/answer"
	jq -r 'select(.path).path' "$T/answer" | grep -m1 '^two:'
}
found() { # how many of 60 files are found, how many complete answers are wrong
	local i hits=0 wrong=0
	for i in {0..59}; do
		if [ "$(ask "$T/one/f$i")" = "two:$T/two/v$i" ]; then
			hits=$((hits + 1))
		elif [ "$(jq "select(.totals).totals.complete" "$T/answer")" = true ]; then
			wrong=$((wrong + 1))
		fi
	done
	echo "$hits $wrong"
}
is "$(found)" '60 0' "every version is found"
groups() { # the groups' lines, without the number and the totals
	groups_everywhere "$(db a)" >"$T/groups"
	jq -cS 'select(.members) | .members[0] | [.xxh128,
		([.files[] | "\(.host):\(.path)"] | sort)]' "$T/groups" | sort
}
groups >"$T/groups.all"
is "$(jq -r 'select(.end).complete' "$T/groups"):$(wc -l <"$T/groups.all")" \
	true:27 "identical files are groups"
kill_server two
read -r hits wrong <<<"$(found)"
# Contents and copies of the lost server are not there, each about a quarter.
between "$hits" 25 59 "with one of four servers gone the rest answers"
is "$wrong" 0 "and what is missing is told"
groups >"$T/groups.rest"
is "$(jq 'select(.end).complete' "$T/groups")" false "groups are not complete"
like "$(jq -r 'select(.end).reason' "$T/groups")" 'connect' \
	"and the reason is told"
between "$(wc -l <"$T/groups.rest")" 10 26 "the rest of the groups is there"
is "$(comm -13 "$T/groups.all" "$T/groups.rest")" "" "as it was"
not_ok "nothing can be published meanwhile" publish a "$T/m1" --refill
ok "a mount is as it was" ls "$T/m1/.similar"
start_server two
ok "when it is back, everything is published" publish a "$T/m1" --label one
is "$(found)" '60 0' "and found"

# ---- killed in the middle ----

for ((n = 1; n <= 4; n++)); do
	publish a "$T/m1" --label one --refill >"$T/output" 2>&1 &
	pid=$!
	sleep "0.0$((n * 2))"
	kill_server three
	wait "$pid"
	start_server three
done
ok "a server that was killed while it was written to" \
	publish a "$T/m1" --label one
ok "has everything in the end" "$KIN_SHARE" check --db "$(db a)" "$T/m1"
ok "gc" "$KIN_SHARE" gc --db "$(db a)"
ok "forget" "$KIN_SHARE" forget --db "$(db a)" two
ok "gc removes what only that host had" "$KIN_SHARE" gc --db "$(db a)"
is "$(sql a 'SELECT count(*) FROM kin_content')" \
	"$(sql a 'SELECT count(DISTINCT content) FROM kin_copy')" \
	"no more and no less"

# ---- servers of postings alone ----

servers=()
for server in a one two three four; do
	sql "$server" 'CREATE DATABASE postings'
	[ "$server" = a ] ||
		servers+=(--posting-server "$(db "$server") dbname=postings")
done
postings="$(db a) dbname=postings"
ok "init with servers of postings" \
	"$KIN_SHARE" init --db "$postings" "${servers[@]}"
ok "the first host" "$KIN_SHARE" --db "$postings" --once -q "$T/m1" --label one
ok "the second" "$KIN_SHARE" --db "$postings" --once -q "$T/m2" --label two
found_there() { # how many of 15 are found, how many answers are complete
	local i hits=0 whole=0
	for i in {0..14}; do
		everywhere "$postings" "$T/one/f$i" >"$T/answer"
		[ "$(jq -r 'select(.path).path' "$T/answer" | grep -m1 '^two:')" \
			!= "two:$T/two/v$i" ] || hits=$((hits + 1))
		[ "$(jq "select(.totals).totals.complete" "$T/answer")" != true ] || whole=$((whole + 1))
	done
	echo "$hits $whole"
}
is "$(found_there)" '15 15' "every version is found"
kill_server two
read -r hits whole <<<"$(found_there)"
is "$hits" 15 "without one of four servers, too"
# Of 12 values none is on that server in 3 of 100 questions.
between "$whole" 0 4 "and that it is gone is told by those that asked it"
stop_servers
finish
