#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two hosts publish to one server, and each finds what the other has.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/helper/share.sh disable=SC1091
. tests/e2e/helper/share.sh

make_tree "$T/one" 1 40
make_tree "$T/two" 2 20
# The second host has versions and copies of what the first has.
mkdir "$T/two/from"
cp "$T/one/f3" "$T/two/from/copy"
{ cat "$T/one/f4" && echo ' and a few more words at the end'; } \
	>"$T/two/from/version"
printf 'odd name' | cat - "$T/one/f5" >"$T/two/from/"$'\xff\nodd'
: >"$T/two/empty"
gen_text 3 7 >"$T/one/small"
{ cat "$T/one/small" && echo ' and a few more words'; } >"$T/two/smaller"
mount_kinfs "$T/one" "$T/m1"
mount_kinfs "$T/two" "$T/m2"
files() { find "$1" -type f "${@:2}" -printf x | wc -c; }
ok "the first host is hashed" wait_idle "$T/m1"
ok "the second host is hashed" wait_idle "$T/m2"
start_server a log_statement=all

refused "without tables, kin-share says what to do" 'run kin-share init' \
	publish a "$T/m1"
ok "init" "$KIN_SHARE" init --db "$(db a)"
refused "a second init changes nothing" 'tables already' \
	"$KIN_SHARE" init --db "$(db a)"
ok "the first host is published" publish a "$T/m1" --label one
ok "the second is published by its catalog" \
	publish a "$(catalog_of "$T/m2")" --label two

is "$(sql a "SELECT count(*) FROM kin_copy JOIN kin_host USING (host)
	WHERE label = 'one'")" "$(files "$T/one")" \
	"every file of the first host is there"
is "$(sql a "SELECT count(*) FROM kin_copy JOIN kin_host USING (host)
	WHERE label = 'two'")" "$(files "$T/two" -size +0)" \
	"every file of the second is, but the empty one"
content=$(xxhsum -H2 "$T/one/f3" | cut -d' ' -f1)
is "$(sql a "SELECT convert_from(path, 'UTF8') FROM kin_copy WHERE
	replace(content::text, '-', '') = '$content' ORDER BY 1")" \
	"$T/one/f3"$'\n'"$T/two/from/copy" "a content is its XXH128"

# ---- what a reader of the database learns ----

# 130 windows in a sketch of level 0 are the file, byte by byte.
is "$("$KIN" digest -a sif "$T/one/small" | cut -d: -f2 | head -c 4 |
	base64 -d | od -An -tu1 -N1 | tr -d ' ')" 0 \
	"the sketch of a small file has all its windows"
is "$(sql a "SELECT count(*) FROM kin_content
	WHERE get_byte(sketch, 0) & 63 < 3")" 0 \
	"of no file more than one window in eight is told"
is "$(sql a "SELECT count(*) FROM kin_posting
	WHERE value >= 1::bigint << (48 - 3)")" 0 "... nor a value of another"
is "$(everywhere "$(db a)" "$T/one/small" | jq -r 'select(.path).path' |
	grep -c /smaller)" 1 "a version of a small file is found all the same"

# ---- questions ----

is "$(everywhere "$(db a)" "$T/one/f3" | similar_lines)" \
	"$(printf '%s\n' "100 one:$T/one/f3" "100 two:$T/two/from/copy" |
		cat - <(score=$("$KIN" compare -m sif "$T/one/f3" \
			"$T/one/f3.v2" | cut -d' ' -f1)
		echo "$score one:$T/one/f3.v2") | sort)" \
	"copies and versions everywhere, with the scores of kin compare"
score=$(everywhere "$(db a)" "$T/one/f4" | jq 'select(.path) |
	select(.path | endswith("/version")).score')
between "$score" 95 99 "a version on the other host"
is "$(everywhere "$(db a)" "$T/one/f5" | jq -r '
	select(.path_hex).path_hex' | grep -c 'ff0a6f6464$')" 1 \
	"a name that is no UTF-8 comes as bytes"
is "$(everywhere "$(db a)" "$T/m2/from/copy" | jq -r 'select(.path).path' |
	grep -cF "one:$T/one/f3")" 2 "by a file of a mount"
is "$(everywhere "$(db a)" "$T/one/f3" | jq 'select(.totals).totals.complete')" true "it is complete"

is "$(groups_everywhere "$(db a)" | jq -c 'select(.members) | [.members[0].size,
	([.members[0].files[] | "\(.host):\(.path)"] | sort)]')" \
	"[$(stat -c %s "$T/one/f3"),[\"one:$T/one/f3\",\"two:$T/two/from/copy\"]]" \
	"one group has files on both hosts"
is "$(groups_everywhere "$(db a)" | jq -c '.totals // empty | [.groups, .files]')" \
	'[1,2]' "and the totals"

# ---- changes ----

published a >"$T/before"
ok "publishing again" publish a "$T/m1" --label one
published a >"$T/after"
same "changes nothing" "$T/after" "$T/before"
rm "$T/m1/f3"
mv "$T/m1/f4" "$T/m1/renamed"
mkdir "$T/m1/d"
mv "$T/m1/f5" "$T/m1/d/f5"
echo more >>"$T/m1/f6"
wait_idle "$T/m1" 2>"$T/output"
ok "after changes" publish a "$T/m1" --label one
published a | grep '^one|' | cut -d'|' -f2 >"$T/have"
find "$T/one" -type f | sort >"$T/want"
same "the names are those of now" "$T/have" "$T/want"
ok "check finds no difference" "$KIN_SHARE" check --db "$(db a)" "$T/m1"
sql a "DELETE FROM kin_copy WHERE path LIKE '%/f7'" >/dev/null
not_ok "check finds a lost row" "$KIN_SHARE" check --db "$(db a)" "$T/m1"
ok "--refill" publish a "$T/m1" --label one --refill
ok "mends that" "$KIN_SHARE" check --db "$(db a)" "$T/m1"

# ---- gc and forget ----

lost=$(sql a "SELECT count(*) FROM kin_content k WHERE NOT EXISTS
	(SELECT 1 FROM kin_copy c WHERE c.content = k.content)")
like "$("$KIN_SHARE" gc --db "$(db a)")" "^$lost contents" \
	"gc removes contents that nobody has"
is "$(sql a "SELECT count(*) FROM kin_posting p WHERE NOT EXISTS
	(SELECT 1 FROM kin_content k WHERE k.content = p.content)")" 0 \
	"with their postings"
like "$("$KIN_SHARE" forget --db "$(db a)" two)" 'copies of two' "forget"
unlike "$(published a)" 'two' "nothing is left of that host"
refused "a host that is not there" 'no host' \
	"$KIN_SHARE" forget --db "$(db a)" two
ok "it may come back" publish a "$T/m2" --label two
ok "check" "$KIN_SHARE" check --db "$(db a)" "$T/m2"

# ---- roles ----

sql a 'CREATE ROLE asks LOGIN'
sql a 'CREATE ROLE publishes LOGIN'
sql a 'CREATE DATABASE roles'
as_role() { # ROLE: how libpq connects
	printf 'host=%s user=%s dbname=roles' "$T/pg-a" "$1"
}
ok "init gives rights" "$KIN_SHARE" init --db "$(as_role postgres)" \
	--reader asks --writer publishes
ok "a writer publishes" \
	"$KIN_SHARE" --db "$(as_role publishes)" --once -q "$T/m1" --label one
ok "again" "$KIN_SHARE" --db "$(as_role publishes)" --once -q --refill \
	"$T/m1" --label one
ok "removes what nobody has" "$KIN_SHARE" gc --db "$(as_role publishes)"
is "$(everywhere "$(as_role asks)" "$T/one/f0" |
	jq -c '.score // .totals.complete' | wc -l)" 3 "a reader asks"
refused "it does not publish" 'permission denied' \
	"$KIN_SHARE" --db "$(as_role asks)" --once "$T/m2"
refused "and removes nothing" 'permission denied' \
	"$KIN_SHARE" forget --db "$(as_role asks)" one
sql a "DELETE FROM kin_copy" roles
refused "also no contents" 'permission denied' \
	"$KIN_SHARE" gc --db "$(as_role asks)"
sql a 'REVOKE TEMPORARY ON DATABASE roles FROM PUBLIC'
ok "a writer was given the right to temporary tables" \
	"$KIN_SHARE" --db "$(as_role publishes)" --once -q "$T/m2" --label two
ok "and publishes" "$KIN_SHARE" check --db "$(as_role asks)" "$T/m2"

# ---- names of its own ----

ok "a label is published at once" publish a "$T/m2" --label 'ada@home'
is "$(sql a "SELECT label FROM kin_host WHERE label ~ '@'")" 'ada@home' \
	"although no file has changed"
sql a 'CREATE DATABASE placed' >"$T/output"
sql a 'CREATE SCHEMA "an@other place"' placed >"$T/output"
sql a 'ALTER DATABASE placed SET search_path = "an@other place"' >"$T/output"
placed="host=$T/pg-a user=postgres dbname=placed"
ok "init in a schema" "$KIN_SHARE" init --db "$placed"
ok "publishing there" "$KIN_SHARE" --db "$placed" --once -q "$T/m2" --label two
ok "all of it is there" "$KIN_SHARE" check --db "$placed" "$T/m2"
is "$(sql a 'SELECT count(*) > 0 FROM "an@other place".kin_copy' placed)" t \
	"in that schema"
is "$(everywhere "$placed" "$T/two/f0" |
	jq 'select(.totals).totals.complete')" true "and answers"

# ---- what is shared ----

publish a "$T/m2" --label two --share 'from/*' >/dev/null
is "$(published a | grep -c '^two|')" \
	"$(files "$T/two/from")" "--share GLOB"
publish a "$T/m2" --label two --no-paths >/dev/null
is "$(sql a "SELECT count(*), count(path), count(mtime) FROM kin_copy JOIN
	kin_host USING (host) WHERE label = 'two'")" \
	"$(files "$T/two" -size +0)|0|0" "--no-paths"
publish a "$T/m2" --label two --share none >/dev/null
is "$(published a | grep -c '^two|')" 0 "--share none"

stop_servers
finish
