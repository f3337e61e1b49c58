#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin watch: a line for each content that was committed, for those who may read
# the file.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace
open_fuse_to_all
share_programs

src=$T/src
mnt=$T/mnt
mkdir -p "$src/docs" "$src/other"
gen_text 400 1 >"$src/docs/a"
gen_text 400 2 >"$src/docs/b"
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"

begin_watch() { # NAME [COMMAND...]: of kin watch, its lines to $T/NAME
	local name=$1
	shift
	timeout 600 "$@" >"$T/$name" 2>"$T/$name.err" &
	pids+=($!)
	watcher=$!
	poll 10 grep -q '^watching ' "$T/$name.err" ||
		bail "a watch begins" "$(cat "$T/$name.err")"
}

lines() { # NAME FILTER: the lines that jq selects, and no time
	jq -c --arg mnt "$mnt/" "select($2) | del(.time_ns, .size, .cursor) |
		.path |= ltrimstr(\$mnt) |
		if .from then .from |= ltrimstr(\$mnt) else . end" "$T/$1"
}

has_line() { # NAME FILTER [COUNT]
	[ "$(lines "$1" "$2" | wc -l)" -ge "${3:-1}" ]
}

# A change that comes after all before it.
marks=0
mark() { # NAME: waits until all that was done is told
	marks=$((marks + 1))
	echo "$marks" >"$mnt/mark$marks"
	poll 20 has_line "$1" ".path | endswith(\"/mark$marks\")"
}

# What is done between the two is hashed behind it.
hold() {
	"$KIN" pause "$mnt"
}

go_on() {
	"$KIN" resume "$mnt"
}

cursor() { # NAME FILTER: of the last such line
	jq -r "select($2) | .cursor" "$T/$1" | tail -n 1
}

# ---- events ----

begin_watch all "$KIN" watch --alike "$mnt"
first=$watcher
edit_text 20 3 <"$src/docs/a" >"$T/edited"
cat "$T/edited" >"$mnt/docs/a"
mark all
is "$(lines all '.path | endswith("docs/a")' |
	jq -c '[.path, .event, .kept > 65 and .kept < 90]')" \
	'["docs/a","changed",true]' "a file that was changed in place"
hold
edit_text 20 3 <"$src/docs/b" >"$mnt/docs/.b.tmp"
mv "$mnt/docs/.b.tmp" "$mnt/docs/b"
go_on
mark all
is "$(lines all '.path | endswith("docs/b")' |
	jq -c '[.event, .kept > 65 and .kept < 90]')" \
	'["changed",true]' "one that was written beside and renamed, once"
is "$(lines all '.path | contains(".b.tmp")')" "" "and nothing of the other name"
cp "$mnt/docs/b" "$mnt/docs/copy"
mark all
is "$(lines all '.path | endswith("copy")' | jq -c '[.event,
	(.alike[0] | [.score, (.path | split("/")[-1])])]')" \
	'["new",[100,"b"]]' "a new one, and what is like it"
mv "$mnt/docs/copy" "$mnt/other/moved"
mark all
is "$(lines all '.event == "moved"' | jq -c 'del(.alike)')" \
	'{"path":"other/moved","event":"moved","from":"docs/copy"}' \
	"one that was moved"
cp "$mnt/docs/b" "$mnt/docs/over"
mark all
mv "$mnt/docs/over" "$mnt/docs/a"
mark all
is "$(lines all '(.path | endswith("docs/a")) or
	((.path | endswith("over")) and .event == "removed")' |
	jq -r '"\(.event) \(.path)"' | tail -n +2 | sort)" \
	"$(printf '%s\n' 'changed docs/a' 'removed docs/over')" \
	"one that was moved over another one is gone by its own name"
before=$(cursor all true)
hold
echo more >>"$mnt/docs/a"
mv "$mnt/docs/a" "$mnt/docs/a2"
go_on
mark all
is "$(lines all '.path | endswith("docs/a2")' | jq -c '[.event, .from]')" \
	"$(printf '%s\n' '["moved","docs/a"]' '["changed",null]')" \
	"one that has changed and was moved before it was hashed"
mv "$mnt/docs/a2" "$mnt/docs/a"
mv "$mnt/other" "$mnt/another"
mark all
is "$(lines all '.directory')" \
	'{"path":"another","event":"moved","directory":true,"from":"other"}' \
	"a directory that was moved, in one line"
rm -r "$mnt/another"
told=$(lines all '.path | endswith("docs/a")' | wc -l)
cp "$mnt/docs/a" "$T/same"
cp "$T/same" "$mnt/docs/a"
touch "$mnt/docs/a"
chmod 600 "$mnt/docs/a"
mark all
is "$(lines all '.event == "removed"' | tail -n 1)" \
	'{"path":"another/moved","event":"removed"}' "one that was removed"
is "$(lines all '.path | endswith("docs/a")' | wc -l)" "$told" \
	"the same content again is no change"
printf x >"$mnt/docs/"$'odd \xff\nname'
mark all
like "$(lines all '.path_hex')" '"path_hex":"[0-9a-f]*ff0a6e616d65"' \
	"a name that is no UTF-8"
is "$(jq -c 'select(.time_ns > 0 | not)' "$T/all")" "" "each has its time"

# ---- where a consumer has stopped ----

begin_watch again "$KIN" watch --since "$before" "$mnt"
poll 20 has_line again ".path | endswith(\"/mark$marks\")"
is "$(lines again true | jq -r .path | sort -u)" \
	"$(jq -rs --arg c "$before" \
		'.[(map(.cursor) | rindex([$c])) + 1:][] | .path' "$T/all" |
		sed "s|^$mnt/||" | sort -u)" \
	"with a cursor, at once with another watch, all behind it is told"
kill "$watcher"
wait "$watcher" 2>/dev/null
for cursor in 1 "${before/?/x}" "0000${before:4}"; do
	status=0
	timeout 60 "$KIN" watch --since "$cursor" "$mnt" \
		>"$T/out" 2>"$T/out.err" || status=$?
	is "$status $(grep -c 'not known' "$T/out.err")" "3 1" \
		"what changed since $cursor is not known"
done

# ---- mistakes ----

refused "a path of another place" 'not in the mount|no kinfs|not in' \
	"$KIN" watch "$mnt" /etc
refused "no mount" 'which mount' "$KIN" watch
kill "$first"
wait "$first" 2>/dev/null

# ---- some paths; a reader that ends ----

begin_watch some "$KIN" watch "$mnt" "$mnt/docs"
echo outside >"$mnt/outside"
echo inside >"$mnt/docs/inside"
poll 20 has_line some '.path | endswith("inside")'
is "$(lines some true)" '{"path":"docs/inside","event":"new"}' \
	"with a path nothing else is told"
mkdir "$mnt/dir"
echo there >"$mnt/dir/file"
wait_idle "$mnt"
mv "$mnt/dir" "$mnt/docs/dir"
poll 20 has_line some '.path | endswith("/dir/file")'
mv "$mnt/docs/dir" "$mnt/dir"
echo >"$mnt/docs/inside2"
poll 20 has_line some '.path | endswith("inside2")'
is "$(lines some '.path | contains("/dir")' | jq -r '.event + " " + .path')" \
	"$(printf '%s\n' 'new docs/dir/file' 'removed docs/dir/file')" \
	"but files that a directory brings, or takes away"
kill "$watcher"
wait "$watcher" 2>/dev/null
timeout 600 "$KIN" watch "$mnt" 2>"$T/first.err" |
	jq -n --unbuffered 'input' >"$T/first" &
pids+=($!)
pipeline=$!
poll 10 grep -q '^watching ' "$T/first.err"
echo one >"$mnt/docs/one"
ok "it ends when nobody reads any more" poll 20 gone "$pipeline"

# ---- many changes, a slow reader ----

mkfifo "$T/fifo"
begin_slow() {
	"$KIN" watch "$mnt" >"$T/fifo" 2>"$T/slow.err" &
	pids+=($!)
	watcher=$!
	exec 9<"$T/fifo"
	poll 10 grep -q '^watching ' "$T/slow.err"
}
begin_slow
mkdir "$mnt/many"
(cd "$mnt/many" && seq 10000 | split -l 1 -a 3 - f)
wait_idle "$mnt"
for i in 1 2 3; do
	gen_text 100 "$i" >"$mnt/many/foup"
	wait_idle "$mnt"
done
timeout 300 head -n 10000 <&9 >"$T/slow"
is "$(jq -r .path "$T/slow" | sort -u | wc -l)" 10000 \
	"10,000 changes that were not read at once, none lost"
is "$(jq -c 'select(.path | endswith("/foup")) | [.event, .merged]' \
	"$T/slow")" '["new",3]' "those of one path are merged, and counted"
exec 9<&-
ok "and it ends" poll 20 gone "$watcher"

# ---- git ----

git() {
	command git -c user.name=ada -c user.email=ada@example.org \
		-c init.defaultBranch=main "$@"
}
mkdir "$mnt/repo"
(
	cd "$mnt/repo" && git init -q
	for i in {1..60}; do gen_text 50 "$i" >"f$i"; done
	git add . && git commit -qm one && git checkout -qb other
	for i in {1..40}; do
		edit_text 10 "9$i" <"f$i" >"$T/edited" && cat "$T/edited" >"f$i"
	done
	rm f41 && gen_text 50 99 >g1 && git add -A && git commit -qm two
) >"$T/git.log" 2>&1 || bail "a repository" "$(cat "$T/git.log")"
wait_idle "$mnt"
begin_watch checkout "$KIN" watch "$mnt" "$mnt/repo"
(cd "$mnt/repo" && git checkout -q main)
mark2() { has_line checkout '.path | endswith("repo/mark")'; }
echo >"$mnt/repo/mark"
poll 20 mark2
lines checkout '.path | contains("/.git/") or endswith("mark") | not' \
	>"$T/told"
is "$(jq -r .path "$T/told" | sort | uniq -d)" "" \
	"a checkout is told once a path"
is "$(jq -r .event "$T/told" | sort | uniq -c | tr -s ' \n' ' ')" \
	" 40 changed 1 new 1 removed " "as what it is"
is "$(jq -c 'select(.event == "changed" and (.kept < 40 or .kept > 80))' \
	"$T/told")" "" "with what it kept"
kill "$watcher"
wait "$watcher" 2>/dev/null

# ---- others ----

mkdir -m 711 "$src/closed"
mkdir "$src/open"
gen_text 100 50 >"$src/open/secret"
gen_text 100 50 >"$src/open/public"
chmod 600 "$src/open/secret"
rescan "$mnt"
begin_watch ada setpriv --reuid="$ada" --regid="$ada" --clear-groups -- \
	"$KIN" watch "$mnt" "$mnt/open" "$mnt/closed"
begin_watch root "$KIN" watch "$mnt" "$mnt/open" "$mnt/closed"
echo more >>"$mnt/open/secret"
echo more >>"$mnt/open/public"
echo hidden >"$mnt/closed/file"
rm "$mnt/closed/file"
# Before it gets another name.
poll 20 has_line ada '.path | endswith("/public")'
mark_open() { # WORD: is told to both
	echo "$1" >"$mnt/open/$1"
	poll 20 has_line ada ".path | endswith(\"/$1\")" &&
		poll 20 has_line root ".path | endswith(\"/$1\")"
}
mark_open first
gen_text 100 51 >"$mnt/open/new"
mv "$mnt/open/new" "$mnt/open/secret"
mv "$mnt/open/public" "$mnt/open/renamed"
mark_open second
rm "$mnt/open/renamed"
mark_open third
is "$(lines ada true | jq -r '"\(.event) \(.path)"' | sort)" \
	"$(printf '%s\n' 'changed open/public' 'new open/first' \
		'new open/renamed' 'new open/second' 'new open/secret' \
		'new open/third')" \
	"another user is told of what it may read, and nothing of what was before"
is "$(lines ada '.kept != null')" "" "... nor what is left of that"
is "$(lines root true | jq -r '"\(.event) \(.path)"' | sort)" \
	"$(printf '%s\n' 'changed open/public' 'changed open/secret' \
		'changed open/secret' 'moved open/renamed' 'new open/first' \
		'new open/second' 'new open/third' 'removed open/renamed')" \
	"root is told all"

# ---- the end ----

kill "${pid_of[$mnt]}"
ok "the watch ends with the mount" poll 20 gone "$watcher"
status=0
wait "$watcher" || status=$?
is "$status" 0 "with exit status 0"
finish
