# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# Groups of a tree that is there anyhow; those of exact copies against what
# rmlint, jdupes and rdfind find in the same tree, where they are installed.
# They read the files each time; kinfs has read them by then, which is a row of
# its own.  Part of scripts/bench, which reads this file.

# Each prints a line a group: the sorted inode numbers of its files, so that
# names of one file count once.
groups_lines()
{
	perl -ne '
		my %seen;
		my @inodes = sort { $a <=> $b } grep { !$seen{$_}++ } split;
		print "@inodes\n" if @inodes > 1' | sort
}

groups_of_kin()
{
	"$kin" groups --exact --json kinfs |
		perl -MJSON::PP -ne '
			my $g = decode_json($_);
			for my $m (@{$g->{members}}) {
				print join(" ", map {
					my $p = $_->{path_hex} ?
						pack("H*", $_->{path_hex}) :
						do { my $t = $_->{path};
							utf8::encode($t); $t };
					(stat("$ENV{TREE}/$p"))[1]
				} @{$m->{files}}), "\n"
			}' | groups_lines
}

groups_of_jdupes()
{
	jdupes -q -r "$similar_tree" 2>/dev/null | perl -ne '
		chomp;
		if ($_ eq "") { print "\n" }
		else { print((lstat($_))[1], " ") }
		END { print "\n" }' | groups_lines
}

groups_of_rdfind()
{
	(cd groups && rdfind -dryrun true -outputname rdfind.txt \
		"$similar_tree" >/dev/null) || return
	awk '!/^#/ { id = $2 < 0 ? -$2 : $2; g[id] = g[id] " " $6 }
		END { for (id in g) print g[id] }' groups/rdfind.txt |
		groups_lines
}

groups_of_rmlint()
{
	rmlint --hidden -T df -o json:groups/rmlint.json "$similar_tree" \
		>/dev/null 2>&1 || return
	perl -MJSON::PP -0777 -ne '
		my %g;
		for (@{decode_json($_)}) {
			push @{$g{$_->{checksum}}}, $_->{inode}
				if ($_->{type} // "") eq "duplicate_file";
		}
		print "@$_\n" for values %g' groups/rmlint.json | groups_lines
}

groups_row()
{
	printf '%-24s %12.4g %s\n' "$1" "$2" "$3"
	note groups "$similar_tree" "$1" "$2" "$3"
}

# groups_peer PROGRAM COMMAND...: the time of the program alone, then whether
# it finds the same.
groups_peer()
{
	local name=$1 us

	command -v "$name" >/dev/null || return 0
	us=$(timed "${@:2}") || return 0
	groups_row "$name" "$(awk -v v="$us" 'BEGIN { print v / 1e6 }')" s
	"groups_of_$name" >"groups/$name"
	groups_row "$name.groups" "$(wc -l <"groups/$name")" ""
	groups_row "$name.different" \
		"$(diff groups/kin "groups/$name" | grep -c '^[<>]')" groups
}

bench_groups()
{
	local us

	[ -e /dev/fuse ] || return 0
	mkdir -p kinfs groups
	export TREE=$similar_tree
	printf '\ngroups of %s\n' "$similar_tree"
	"$kinfs" "$similar_tree" "$top/kinfs" -o "db=$top/groups/catalog" ||
		die "kinfs failed"
	us=$(timed "$kin" wait kinfs) || die "kin wait failed"
	groups_row hashing "$(awk -v v="$us" 'BEGIN { print v / 1e6 }')" s
	us=$(timed "$kin" groups kinfs) || die "kin groups failed"
	groups_row kin.groups "$(awk -v v="$us" 'BEGIN { print v / 1e6 }')" s
	us=$(timed "$kin" groups --exact kinfs) || die "kin groups failed"
	groups_row kin.exact "$(awk -v v="$us" 'BEGIN { print v / 1e6 }')" s
	groups_of_kin >groups/kin
	groups_row kin.exact.groups "$(wc -l <groups/kin)" ""
	groups_peer jdupes jdupes -q -r -m "$similar_tree"
	groups_peer rdfind rdfind -dryrun true -outputname "$top/groups/r" \
		"$similar_tree"
	groups_peer rmlint rmlint --hidden -T df \
		-o "json:$top/groups/r.json" "$similar_tree"
	unmount kinfs
}
