#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What the mount of another user says of itself is not believed: kin does
# nothing in a place that it names, follows none of its links, and takes no path
# that leads out of it.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/home/src
mnt=$T/home/mnt
db=$T/home/db

user_mounts() {
	open_fuse_to_all
	echo user_allow_other >"$T/fuse.conf"
	mount --bind "$T/fuse.conf" /etc/fuse.conf
	share_programs
	mkdir -p "$src" "$mnt" "$db"
	gen_text 100 1 >"$src/a"
	cp "$src/a" "$src/b"
	mkdir "$src/d"
	cp "$src/a" "$src/d"
	chown -R 65534:65534 "$T/home"
	ok "a user mounts" as_nobody env HOME="$T/home" timeout 600 "$KINFS" \
		-o "db=$db,allow_other" "$src" "$mnt"
	ok "everything is hashed" as_nobody timeout 600 "$KIN" wait "$mnt"
}

test_places() {
	refused "root ignores no pair of it" "another user mounted it" \
		"$KIN" ignore "$mnt/a" "$mnt/b"
	is "$(find "$db" -user 0)" "" "and writes nothing beside its catalog"
	ok "its user does" as_nobody "$KIN" ignore "$mnt/a" "$mnt/b"
	like "$("$KIN" status "$mnt")" "source +$src" \
		"what it says is shown to root"
}

# In place of .similar, which another user's program could make up.
false_listings() {
	mkdir -p "$T/false/a"
	echo precious >"$T/victim"
	mount --bind "$T/false" "$mnt/.similar"
}

test_links() {
	ln -s "$T/victim" "$T/false/.query"
	not_ok "groups are not asked of a link" "$KIN" groups "$mnt"
	not_ok "nor files" "$KIN" similar --of "$src/a" "$mnt"
	is "$(cat "$T/victim")" precious "and what it leads to stays"
	rm "$T/false/.query"
}

# What is behind the question, which goes over its beginning.
answer() { # LINE...
	{
		echo '{"relation":"groups","exact":false,"every":false,"min_size":0,"within":[]}'
		printf '%s\n' "$@"
	} >"$T/false/.query"
}

found() { # PATH [LINK]: a file of one group
	printf '{"group":0,"score":100,"size":9,'
	printf '"xxh128":"00000000000000000000000000000000","files":[{"path":"%s",' "$1"
	[ $# = 1 ] || printf '"links":[{"path":"%s"}],' "$2"
	printf '"on_disk":9,"nlink":1,"mtime_ns":0}]}'
}

test_answers() {
	local head='{"threshold":60,"groups":1}' end='{"end":true,"complete":true}'
	answer "$head" "$(found a)" "$(found b)" "$end"
	is "$("$KIN" groups -0 "$mnt" | tr '\0' ' ')" "$mnt/b " \
		"a copy that could go"
	for path in ../../../../etc/passwd a/../../../../../etc/passwd /etc/x; do
		answer "$head" "$(found a)" "$(found "$path")" "$end"
		is "$("$KIN" groups -0 "$mnt" 2>&1 | grep -c etc)" 0 \
			"no group has $path"
		answer "$head" "$(found a "$path")" "$end"
		refused "nor is it a link" "" "$KIN" groups "$mnt"
	done
	answer '{"progress":4294967295}' "$head" "$end"
	refused "nor is there progress of more than all" "" \
		"$KIN" groups "$mnt"
	answer "$head" "$(found a)" "$(found b)"
	refused "an answer that has no end is none" "" "$KIN" groups "$mnt"
	answer "$head" "$(found a)" nonsense "$end"
	refused "nor is one with a line that is no object" "" \
		"$KIN" groups "$mnt"
	answer "$head"
	{
		head -c $((65 << 20)) /dev/zero | tr '\0' x
		echo
		echo "$end"
	} >>"$T/false/.query"
	refused "nor one with a line that does not end" "" "$KIN" groups "$mnt"
	similar_answer "$(hit 97)" "$end"
	like "$("$KIN" similar --relation version "$mnt/a" 2>/dev/null)" \
		"97 .*$mnt/b" "a file like another"
	for path in ../../../../etc/passwd b/../../../etc/passwd /etc/x; do
		similar_answer "$(hit 97)" \
			"{\"score\":96,\"path\":\"$path\"}" "$end"
		refused "but none outside: $path" "" \
			"$KIN" similar --relation version "$mnt/a"
	done
	similar_answer "$(hit 101)" "$end"
	refused "nor is there a score above 100" "" \
		"$KIN" similar --relation version "$mnt/a"
}

# The same for a question about a file, whose length is seen first.
hit() { # SCORE
	printf '{"score":%s,"distinctive":97,"reason":"listed","bytes":9,' "$1"
	printf '"by":"bytes","path":"b"}'
}

similar_answer() { # LINE...
	local length
	head -c 100000 /dev/zero >"$T/false/.query"
	"$KIN" similar --relation version "$mnt/a" >"$T/output" 2>&1
	length=$(head -n 1 "$T/false/.query" | wc -c)
	{
		printf '%*s\n' "$((length - 1))" ""
		printf '%s\n' "$@"
	} >"$T/false/.query"
}

# A listing of directories has links.
test_directories() {
	mkdir -p "$T/false/d/.dirs"
	ln -s ../../etc/passwd "$T/false/d/.dirs/099_passwd"
	ln -s ../../d/../../etc "$T/false/d/.dirs/098_etc"
	refused "no directory outside is like one here" "" \
		"$KIN" similar "$mnt/d"
}

user_mounts
test_places
false_listings
test_links
test_answers
test_directories
umount "$mnt/.similar"
ok "it unmounts" poll 10 as_nobody fusermount3 -u "$mnt"
finish
