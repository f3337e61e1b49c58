#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# seeds.pl OLD NEW NEAR MAP: which file of the tree OLD each rule takes as the base
# of a file of NEW, and how many bytes zstd --patch-from needs with it; the sums, a
# rule a line.  Only contents that OLD does not have count.  NEAR is what kin
# missing --json says, MAP what kin seed --json says.
use strict;
use warnings;
use Digest::MD5;
use File::Basename;
use File::Find;
use JSON::PP;

my ($old, $new, $near_file, $map_file) = @ARGV;

sub files
{
	my ($top) = @_;
	my %all;
	find({ no_chdir => 1, wanted => sub {
		return if -l $_ || !-f _ || !-s _;
		$all{ substr($_, length($top) + 1) } = [ -s _, (stat _)[9] ];
	} }, $top);
	return \%all;
}

sub sum
{
	open my $f, '<:raw', $_[0] or die "$_[0]: $!";
	return Digest::MD5->new->addfile($f)->hexdigest;
}

sub read_map
{
	my ($file, $to) = @_;
	my %map;
	open my $f, '<', $file or die "$file: $!";
	while (<$f>) {
		my $line = decode_json($_);
		my $base = $line->{$to};
		$base = $base->{path} if ref $base;
		$map{ $line->{path} } = $base if defined $base;
	}
	return \%map;
}

# Levenshtein's distance, in which a character that differs more costs more, as
# rsync has it; or more than $most.
sub distance
{
	my @a = unpack 'C*', $_[0];
	my @b = unpack 'C*', $_[1];
	my $most = $_[2];
	return $most + 1 if abs(@a - @b) << 16 > $most;
	my @row = map { $_ << 16 } 0 .. @b;
	for my $i (0 .. $#a) {
		my $diagonal = $row[0];
		my $least = $row[0] = ($i + 1) << 16;
		for my $j (0 .. $#b) {
			my $cost = abs($a[$i] - $b[$j]);
			$cost += 1 << 16 if $cost;
			my $best = $diagonal + $cost;
			for ($row[$j] + (1 << 16), $row[$j + 1] + (1 << 16)) {
				$best = $_ if $_ < $best;
			}
			$diagonal = $row[$j + 1];
			$row[$j + 1] = $best;
			$least = $best if $best < $least;
		}
		return $most + 1 if $least > $most;
	}
	return $row[-1];
}

sub suffix
{
	return $_[0] =~ /.(\.[^.]+)$/ ? $1 : '';
}

my ($olds, $news) = (files($old), files($new));
my ($near, $map) = (read_map($near_file, 'near'), read_map($map_file, 'base'));
my %has = map { sum("$old/$_") => 1 } keys %$olds;
my %in;
push @{ $in{ dirname($_) } }, $_ for sort keys %$olds;

# rsync --fuzzy: the file at the path, else in its directory one of the size and
# the time, else the one of the most similar name.
sub fuzzy
{
	my ($path) = @_;
	return $path if $olds->{$path};
	my ($size, $time) = @{ $news->{$path} };
	my ($name, $least, $best) = (basename($path), 25 << 16);
	for (@{ $in{ dirname($path) } // [] }) {
		return $_ if $olds->{$_}[0] == $size && $olds->{$_}[1] == $time;
	}
	for (@{ $in{ dirname($path) } // [] }) {
		my $other = basename($_);
		my $far = distance($name, $other, $least);
		next if $far > $least;
		$far += 10 * distance(suffix($name), suffix($other), $least);
		($least, $best) = ($far, $_) if $far <= $least;
	}
	return $best;
}

my %known;

sub bytes
{
	my ($path, $base) = @_;
	my @from = defined $base ? ("--patch-from=$old/$base") : ();
	return $known{ $path, $base // '' } //= do {
		open my $zstd, '-|', 'zstd', '-qq', '-6', '-c', @from,
			"$new/$path" or die "zstd: $!";
		local $/;
		length(<$zstd> // '');
	};
}

my %rules = (
	none => sub { undef },
	path => sub { $olds->{ $_[0] } ? $_[0] : undef },
	fuzzy => \&fuzzy,
	score => sub { $near->{ $_[0] } },
	seed => sub { $map->{ $_[0] } },
);
my (%total, $count);
for my $path (sort keys %$news) {
	next if $has{ sum("$new/$path") };
	$count++;
	for (keys %rules) {
		my $plain = bytes($path);
		my $base = $rules{$_}->($path);
		my $with = defined $base ? bytes($path, $base) : $plain;
		$total{$_} += $with < $plain ? $with : $plain;
	}
}
print "files $count\n";
print "$_ $total{$_}\n" for sort keys %rules;
