#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# JSON of every command: an object a line, the last one with totals; a key that
# kin(1) does not explain under JSON KEYS is an error, and so is one that the
# page has and no command prints.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src mnt=$T/mnt

# ---- the page ----

sed -n '/^\.Sh JSON KEYS/,/^\.Sh NAMES/s/^\.\(It \)\{0,1\}Li //p' core/cli/kin.1 |
	sed 's/ No .*//' | tr -s ' ,;' '\n' | grep -v '^$\|^\.$\|^user\.' |
	sort -u >"$T/page"
# Those in parentheses behind "_bytes".
sed -n 's/^\.Pq same_bytes , \(.*\) ,$/same_bytes , \1/p' core/cli/kin.1 |
	tr -s ' ,' '\n' >>"$T/page"
isnt "$(wc -l <"$T/page")" 0 "kin(1) has a page of keys"

# ---- the commands ----

mkdir -p "$src/a" "$src/b" "$T/other" "$T/other.mnt"
gen_text 300 1 >"$src/a/f"
cp "$src/a/f" "$src/b/f"
edit_text 10 1 <"$src/a/f" >"$src/b/version"
head -n 40 "$src/a/f" >"$src/a/part"
{ gen_text 6000 3; sed -n 20,200p "$src/a/f"; } >"$src/b/quoting"
gen_text 30 4 >"$src/a/$(printf 'l\344tin')"
cp "$src/a/f" "$src/a/name"
ln "$src/a/name" "$src/a/linked"
gen_text 30 5 >"$src/skipped.o"
gzip -nc "$src/a/f" >"$src/b/packed.gz"
cp "$src/b/version" "$T/other"
mount_kinfs "$src" "$mnt" -o "exclude=*.o"
mount_kinfs "$T/other" "$T/other.mnt"
wait_idle "$mnt"
wait_idle "$T/other.mnt"

# Every line an object, the last one with totals alone; its keys, but those of
# digests and of the daemon's own object.
keys() { # NAME TOTALS COMMAND...
	local name=$1 totals=$2
	shift 2
	"$KIN" "$@" >"$T/out" 2>"$T/err"
	perl -MJSON::PP -e '
		sub look {
			my ($v, $in) = @_;
			if (ref $v eq "ARRAY") { look($_, $in) for @$v }
			return unless ref $v eq "HASH";
			for (keys %$v) {
				print "$_\n" unless $in eq "digests";
				look($v->{$_}, $_);
			}
		}
		my @lines = map { decode_json $_ } <STDIN>;
		look($_, "") for @lines;
		my $last = $lines[-1];
		print STDERR "totals\n" if join(",", keys %$last) eq "totals" &&
			exists $last->{totals}{complete};
		print STDERR "more\n" if grep { $_->{totals} } @lines[0 .. $#lines - 1];
	' <"$T/out" >"$T/keys" 2>"$T/form" || diag "$(cat "$T/form")"
	sed 's/_hex$//' "$T/keys" | sort -u >"$T/these"
	cat "$T/these" >>"$T/all"
	is "$(comm -23 "$T/these" <(sort -u "$T/page"))" "" \
		"$name: the page explains every key"
	is "$(cat "$T/form")" "$totals" "$name: its lines, and totals in the last"
	like "$(sed -n 1p "$T/out")" '^\{' "$name: an object comes first"
}

export XDG_STATE_HOME=$T/state
"$KIN" groups --json "$mnt" >"$T/groups"
"$KIN" export --seeds "$T/other.mnt" >"$T/seeds" 2>"$T/err"
"$KIN" export "$mnt" >"$T/export" 2>"$T/err"
keys similar totals similar --json -v --share-min 1k "$mnt/a/f" "$mnt/b/quoting"
for key in of root path size on_disk mtime score relation shared; do
	ok "similar has $key" grep -qx "$key" "$T/these"
done
keys "similar --of" totals similar --json --of "$src/a/f" "$mnt"
keys "similar of nothing" totals similar --json "$mnt/skipped.o"
ok "... says why" grep -qx reason "$T/these"
keys "similar --relation boilerplate" totals \
	similar --json --relation boilerplate "$mnt/a/f"
keys "similar --in" totals similar --json -v --in "$T/export" "$src/a/f"
keys "similar of directories" totals similar --json "$mnt/a" "$mnt/b"
keys "similar --why" "" similar --why --json "$mnt/a/f" "$mnt/b/version"
keys "similar --why of passages" "" similar --why --json --share-min 1k \
	"$mnt/a/f" "$mnt/b/quoting"
keys passages totals passages --json "$mnt/a/f"
keys groups totals groups --json --keep "$mnt/a" "$mnt"
keys "export" totals export --plain "$mnt"
keys missing totals missing --json "$mnt" "$T/other.mnt"
keys seed totals seed --json "$T/seeds" "$mnt"
keys status totals status --json
keys "status --skipped" totals status --skipped --json "$mnt"
keys wait totals wait --json "$mnt"
keys check totals check --read --json "$mnt"
keys digest totals digest --json "$src/a/f" "$src/a/$(printf 'l\344tin')"
keys compare "" compare --json "$src/a/f" "$src/b/version"
"$KIN" digest "$src/a/f" "$src/a/part" >"$T/list"
keys "compare with a list" "" compare --json "$T/list" "$T/list"
keys "compare by more" "" compare --json "$src/a/f" \
	"tlsh:$("$KIN" digest -a tlsh "$src/b/version" | cut -d' ' -f1)"
for file in a/f b/version; do
	"$KIN" digest --sha256 "$src/$file" >"$T/${file#*/}.sums"
done
keys "compare of lists" "" compare --json "$T/f.sums" "$T/version.sums"
keys "dedup" totals dedup --json --how hardlink "$T/groups"
keys "dedup --apply" totals dedup --json --apply --journal "$T/journal" "$T/groups"
keys "dedup --undo" totals dedup --json --undo "$T/journal"
"$KIN" ignore "$mnt/a/f" "$mnt/b/version"
keys "ignore --list" totals ignore --list --json "$mnt"
keys strip totals strip --json "$T/other"

# ---- and nothing else ----

# These need XFS, other hosts, a document with a date, or pictures.
cat >>"$T/all" <<-'END'
	document_date
	shared_before
	host
	pdq_distance
END
is "$(sort -u "$T/page" | comm -23 - <(sort -u "$T/all"))" "" \
	"a command prints every key of the page"

finish
