#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Whose credentials an answer is worked out with: a descriptor can reach
# another process, a user can give up a group, and an attribute can be read by
# users who see different parts of the tree.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

src=$T/src
mnt=$T/mnt
team=60010

make_tree() {
	mkdir -p "$src/ada"
	printf 'KEY=wJalrXUtnFEM, which nobody else must know\n' \
		>"$src/ada/secret"
	gen_text 100 1 >"$src/open"
	cp "$src/open" "$src/team"
	chown -R "$ada" "$src"
	chmod 700 "$src/ada"
	chmod 600 "$src/ada/secret"
	chgrp "$team" "$src/team"
	chmod 640 "$src/team"
	chmod 777 "$src"
	printf '{"size":20,"relation":"within","digests":{"sif":"%s"}}' \
		"$(head -c 20 "$src/ada/secret" | "$KIN" digest -a sif - |
			sed 's/  .*//')" >"$T/question"
}

# ---- a descriptor that reaches a privileged process ----

# A cat that is always root.
privileged_cat() {
	cp "$(command -v cat)" "$T/root-cat" && chmod 4755 "$T/root-cat"
}

# bob asks, COMMAND reads in place of bob, and bob reads on.
ask_through() { # COMMAND...
	# shellcheck disable=SC2016 # for the inner shell
	as_bob bash -c '
		exec 3<>"$1/.similar/.query"
		cat "$2" >&3
		"${@:3}" <&3 2>&1
		cat <&3' - "$mnt" "$T/question" "$@" | sed '/"end"/d'
}

# The privileged process writes the question.
ask_by_writing() { # COMMAND...
	# shellcheck disable=SC2016
	as_bob bash -c '
		exec 3<>"$1/.similar/.query"
		"${@:3}" "$2" 2>&1 >&3' - "$mnt" "$T/question" "$@"
}

with_groups() { # GROUPS COMMAND...: as root, which may choose them
	setpriv --groups="$1" -- "${@:2}"
}

test_query() {
	ok "a program that runs as root" privileged_cat
	is "$(as_bob "$T/root-cat" "$src/ada/secret")" \
		"$(cat "$src/ada/secret")" "which reads everything"
	like "$(as_ada bash -c 'exec 3<>"$1/.similar/.query"
		cat "$2" >&3; cat <&3' - "$mnt" "$T/question")" \
		'"path":"ada/secret"' "the owner is told of the secret file"
	is "$(ask_through true)" "" "another user is not"
	like "$(ask_through "$T/root-cat")" "Permission denied" \
		"a privileged program cannot read in place of the user"
	unlike "$(ask_through "$T/root-cat")" secret "and nobody is answered"
	like "$(ask_by_writing "$T/root-cat")" "Permission denied" \
		"nor can it write"
}

# Credentials are the groups, too.
test_query_groups() {
	printf '{"relation":"alike","size":%s,"digests":{"sif":"%s"}}' \
		"$(stat -c %s "$src/open")" \
		"$("$KIN" digest -a sif "$src/open" | sed 's/  .*//')" \
		>"$T/question"
	# shellcheck disable=SC2016
	like "$(with_groups "$team" perl -e '
		my ($path, $question, $uid) = @ARGV;
		open my $in, "<", $question or die;
		my $text = do { local $/; <$in> };
		$) = "$uid $ENV{TEAM}"; $> = $uid;
		open my $q, "+<", "$path/.similar/.query" or die "open: $!";
		syswrite $q, $text or die "write: $!";
		$> = 0; $) = "$uid $uid"; $> = $uid;
		print defined sysread($q, my $answer, 65536) ?
			"answered" : "$!"' \
		"$mnt" "$T/question" "$bob")" "Permission denied" \
		"a question that was asked with a group is not answered without"
}

# ---- the state of the daemon ----

status_of() { # UID
	as "$1" none getfattr --absolute-names --only-values \
		-n user.kinfs.status "$mnt"
}

keys() { # JSON on stdin: its keys, those of objects within too
	perl -MJSON::PP -0777 -e '
		sub keys_of {
			my ($o, $before) = @_;
			for (sort keys %$o) {
				print "$before$_\n" if ref $o->{$_} ne "HASH";
				keys_of($o->{$_}, "$_.") if ref $o->{$_} eq "HASH";
			}
		}
		keys_of(decode_json(<STDIN>), "")'
}

test_status() {
	"$KIN" check "$mnt" >/dev/null
	is "$(status_of "$bob" | keys | tr '\n' ' ')" \
		"catalog.error digests idle mounted passthrough paused percent \
rate scan.running share_min similar_name source stalled texts.state threshold version watch.on " \
		"the status has no numbers of files or contents"
	like "$(status_of 0)" '"contents": [1-9]' "but to root"
	is "$(as_ada "$(helper sys)" getx "$mnt" user.kinfs.wait)" \
		EPERM "nor does another user hurry the background"
	is "$("$(helper sys)" getx "$mnt" user.kinfs.wait)" ok "as root does"
	poll 60 is_idle
	like "$(as_bob "$KIN" status "$mnt")" \
		'state +idle.*progress +100 %' "kin status shows the progress"
	like "$("$KIN" status "$mnt")" 'contents +[0-9]' "and root the numbers"
	like "$(as_bob "$KIN" wait "$mnt")" '100 %$' \
		"kin wait shows it, too"
	like "$(as "$bob" "$team" "$KIN" similar "$mnt/open")" team \
		"kin similar finds the listings"
	refused "kin check is for the owner" "not permitted" \
		as_bob "$KIN" check "$mnt"
}

# What goes on at this moment is told to all: the status when nothing does.
is_idle() {
	status_of "$bob" >"$T/idle" && grep -q '"idle": true' "$T/idle"
}

idle_status() {
	poll 60 is_idle
	cat "$T/idle"
}

# A content that somebody has is stored like one that nobody has.
test_guess() {
	local before
	before=$(idle_status)
	as_bob cp "$T/guess" "$mnt/guess"
	wait_idle "$mnt"
	is "$(idle_status)" "$before" "a guess leaves no trace in it"
	rm "$mnt/guess"
}

# ---- names of links ----

test_sdhash() {
	gen 30000 5 >"$mnt/ada/a-secret-name"
	ln "$mnt/ada/a-secret-name" "$mnt/public"
	chmod 644 "$mnt/public"
	wait_idle "$mnt"
	unlike "$(as_bob getfattr --absolute-names --only-values \
		-n user.sdhash "$mnt/public")" secret \
		"user.sdhash does not tell the other name of a link"
	getx "$mnt/ada/a-secret-name" user.sdhash >/dev/null
	is "$(as_bob getfattr --absolute-names --only-values \
		-n user.sdhash "$mnt/public")" \
		"$("$KIN" digest -a sdhash - <"$mnt/public" | sed 's/  .*//')" \
		"also after somebody asked by that name"
}

# ---- real entries with the names of views ----

test_real_views() {
	local point=$T/views
	mkdir -p "$T/real/sub/.dirs" "$T/real/other" "$T/real/.groups"
	gen_text 100 3 >"$T/real/sub/.dirs/file"
	cp "$T/real/sub/.dirs/file" "$T/real/other/copy"
	cp "$T/real/other/copy" "$T/real/.query"
	mount_kinfs "$T/real" "$point"
	wait_idle "$point"
	is "$(ls "$point/.similar/sub/.dirs")" file \
		"a real .dirs is mirrored, not hidden"
	is "$(ls "$point/.similar/.query")" "100_copy
100_file" "so is a real .query"
	ok "the view is where nothing is in the way" \
		getfattr -n user.kinfs.state "$point/.similar/other/.dirs"
	like "$(daemon_log "$point")" "'.query'.*'.groups'.*'.dirs' in 'sub'" \
		"the log names them"
	ok "it unmounts" unmount "$point"
}

# ---- where the catalog is ----

no_mount() { # NAME REGEX DIRECTORY: refused as a place of the catalog
	refused "$1" "$2" timeout 600 "$KINFS" -f "$T/real" "$T/views" \
		-o "db=$3"
}

test_catalog_place() {
	mkdir -p "$T/views" "$T/open/db" "$T/foreign/db"
	chmod 777 "$T/open/db"
	no_mount "a catalog that all can write to is refused" \
		"can be written to by others" "$T/open/db"
	chmod 770 "$T/open/db"
	chgrp "$team" "$T/open/db"
	no_mount "and one that a group can" \
		"can be written to by others" "$T/open/db"
	chmod 700 "$T/open/db"
	chmod 777 "$T/open"
	no_mount "and one below a directory that all can write to" \
		"below a directory that others" "$T/open/db"
	chown "$bob" "$T/foreign/db"
	no_mount "and one of another user" "belongs to another user" \
		"$T/foreign/db"
	chown 0 "$T/foreign/db"
	chown "$bob" "$T/foreign"
	no_mount "and one below another user's directory" \
		"below a directory that others" "$T/foreign/db"
	chmod 1777 "$T/open"
	mount_kinfs "$T/real" "$T/views" -o "db=$T/open/db"
	ok "a sticky directory above is none of these" unmount "$T/views"
}

make_tree
cp "$src/ada/secret" "$T/guess"
chmod 644 "$T/guess"
share_programs
helper sys >/dev/null
mount_kinfs "$src" "$mnt" -o allow_other
wait_idle "$mnt"
test_query
TEAM=$team test_query_groups
test_status
test_guess
test_sdhash
ok "it unmounts" unmount "$mnt"
test_real_views
test_catalog_place
finish
