#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The connection is cut, kin-share is killed and the server is killed after so
# many bytes of what they say to each other: what is published is there as a
# whole or not at all, and a question that was not answered in full says so.
# STRIDE=1 cuts questions after every byte, which takes minutes.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/helper/share.sh disable=SC1091
. tests/e2e/helper/share.sh

make_tree "$T/one" 1 9
# Short files, so that a question has few bytes, each of which is tried.
echo 'a short text that has a version of itself.' >"$T/one/short"
echo 'a short text that has a version of itself!' >"$T/one/version"
mount_kinfs "$T/one" "$T/m1"
"$KIN" wait "$T/m1" 2>"$T/output"
start_server a
"$KIN_SHARE" init --db "$(db a)" >"$T/output"
files=$(find "$T/one" -type f | wc -l)
complete() { "$KIN_SHARE" check --db "$(db a)" "$T/m1"; }

# ---- a proxy that causes faults ----

mkdir "$T/proxy"
fault() { # none, or as tests/e2e/helper/fault.py has it
	echo "$*" >"$T/fault.new"
	mv "$T/fault.new" "$T/fault"
	: >"$T/faults"
}
faults() { # how many there were since then
	wc -l <"$T/faults"
}
fault none
python3 tests/e2e/helper/fault.py "$T/proxy/.s.PGSQL.5432" \
	"$T/pg-a/.s.PGSQL.5432" "$T/fault" "$T/faults" &
pids+=($!)
poll 10 test -S "$T/proxy/.s.PGSQL.5432"
through="host=$T/proxy user=postgres dbname=postgres gssencmode=disable"
publish_through() { # [OPTION...]
	timeout 60 "$KIN_SHARE" --db "$through" --once -q "$@" "$T/m1" \
		>"$T/output" 2>&1
}
count_bytes() { # COMMAND...: sets answered and requested
	fault count
	"$@"
	poll 10 test -s "$T/faults"
	read -r answered requested <"$T/faults"
}
empty='TRUNCATE kin_host, kin_copy, kin_content, kin_posting'
wrong=0
look_and_empty() { # a batch is there as a whole or not at all
	case $(sql a "SELECT count(*) FROM kin_copy; $empty") in
	0 | "$files") ;;
	*) wrong=$((wrong + 1)) ;;
	esac
}

# ---- publishing ----

count_bytes publish_through
look_and_empty
diag "publishing: $answered bytes of answers, $requested of requests"
cuts=0
for ((n = 1; n < answered; n += 11)); do
	fault answers "$n" cut
	publish_through
	cuts=$((cuts + $(faults)))
	look_and_empty
done
for ((n = 1; n < requested; n += requested / 100)); do
	fault requests "$n" cut
	publish_through
	cuts=$((cuts + $(faults)))
	look_and_empty
done
between "$cuts" 150 2000 "connections were cut while it published"
is "$wrong" 0 "each batch was there as a whole or not at all"
fault none
ok "then it publishes" publish_through
ok "and everything is there" complete

# ---- kin-share is killed ----

# The database is empty, or knows the host.
killed=0
for n in {1..200}; do
	fault requests $((requested * n / 202)) kill
	publish_through --refill
	killed=$((killed + $(faults)))
	[ $((n % 3)) -ne 0 ] || look_and_empty
done 2>/dev/null
is "$killed" 200 "kin-share was killed 200 times while it published"
is "$wrong" 0 "each batch was there as a whole or not at all"
fault none
ok "it goes on" publish_through
ok "and everything is there" complete
is "$(sql a 'SELECT count(*) FROM kin_host')" 1 "as one host"

# ---- the server is killed ----

restart() {
	wait "${pg_pid[a]}" 2>/dev/null
	start_server a
}
sql a "$empty"
killed=0
for n in {1..6}; do
	fault requests $((requested * n / 7)) kill-server "${pg_pid[a]}"
	publish_through
	killed=$((killed + $(faults)))
	restart
	look_and_empty
done 2>/dev/null
is "$killed" 6 "the server was killed six times while it was written to"
is "$wrong" 0 "each batch was there as a whole or not at all"
fault none
ok "it is published to" publish_through
ok "and everything is there" complete

# ---- questions ----

digest() { "$KIN" digest -a "$1" "$T/one/short" | cut -d' ' -f1; }
question=$(jq -nc --arg xxh128 "$(digest xxh128)" --arg sif "$(digest sif)" \
	--argjson size "$(stat -c %s "$T/one/short")" \
	'{size: $size, digests: {xxh128: $xxh128, sif: $sif}}')
ask() { # TIMES: complete, incomplete and wrong answers
	yes "$question" | head -n "$1" |
		"$KIN_SHARE" ask --db "$through" >"$T/answers"
	awk '/"end":true/ && /"complete":true/ {
			complete++
			if (hits != "short version ")
				wrong++
		}
		/"end":true/ && /"complete":false,"reason":"[^"]/ {
			incomplete++
		}
		/"end":true/ { hits = ""; answers++; next }
		match($0, /one\/[a-z]*/) {
			hits = hits substr($0, RSTART + 4, RLENGTH - 4) " "
		}
		END {
			wrong += answers - complete - incomplete
			print complete + 0, incomplete + 0, wrong + 0
		}' "$T/answers"
}
is "$(ask 1)" '1 0 0' "a question is answered in full"
stride=${STRIDE:-7}
first=$((1 + ${SEED:=$RANDOM} % stride))
diag "STRIDE=$stride SEED=$SEED"
count_bytes ask 2 >"$T/output"
diag "two questions: $answered bytes of answers, $requested of requests"
for way in answers requests; do
	bytes=$answered
	[ $way = answers ] || bytes=$requested
	times=$((bytes / stride))
	fault $way "$first+$stride" cut
	read -r whole incomplete wrong <<<"$(ask "$times")"
	between "$(faults)" $((times / 2)) "$times" \
		"the connection was cut all along the $way"
	between "$incomplete" $((times / 2)) "$times" \
		"answers that were cut said so"
	between "$whole" 1 "$times" "others were given"
	is "$wrong" 0 "a cut answer never passed for a complete one"
done
killed=0
wrong=0
for n in {1..6}; do
	fault answers $((answered * n / 14)) kill-server "${pg_pid[a]}"
	[[ $(ask 1) =~ ^(1\ 0|0\ 1)\ 0$ ]] || wrong=$((wrong + 1))
	killed=$((killed + $(faults)))
	restart
done 2>/dev/null
is "$killed" 6 "the server was killed six times while it answered"
is "$wrong" 0 "an answer was right, or said that it was not complete"
ok "after all that the catalog is in order" "$KIN" check "$T/m1"
stop_servers
finish
