# SPDX-License-Identifier: Apache-2.0
#
# Made-up prose.  A line of input is the name of a file to write and its parts:
#
#   LINES:SEED           as many lines, no line like another
#   =FILE                a copy of FILE
#   PERCENT~SEED=FILE    a copy, that percentage of its lines replaced in runs
#                        of up to 20, as people rewrite paragraphs
#
# With -v parts=... these go to standard output, and there is no input.

function next_random() {
	random = (random * 16807) % 2147483647
	return random
}

function start_random(seed) {
	random = 1 + (seed * 7919 + 12345) % 2147483646
	next_random()
	next_random()
}

function word(    n, text) {
	n = 1 + next_random() % 4
	text = ""
	while (n-- > 0)
		text = text substr(syllables, 1 + 2 * (next_random() % 38), 2)
	return text
}

function line(    n, text) {
	n = 10
	text = word()
	while (--n > 0)
		text = text " " word()
	return text
}

# Of every stretch of 20 * 100 / percent lines the first 20 are replaced.
function copy(out, file, percent,    stretch, n, text) {
	stretch = percent > 0 ? 2000 / percent : 1e9
	for (n = 0; (getline text <file) > 0; n++)
		print(percent && n % stretch < 20 ? line() : text) >out
	close(file)
}

function write(out, part,    numbers, equals, lines) {
	equals = index(part, "=")
	split(equals ? substr(part, 1, equals - 1) : part, numbers, "[:~]")
	start_random(numbers[2] + 0)
	if (equals) {
		copy(out, substr(part, equals + 1), numbers[1] + 0)
		return
	}
	for (lines = numbers[1]; lines > 0; lines--)
		print line() >out
}

BEGIN {
	syllables = "babebibodadedidofafefifogagegigokakekikolalelilomama" \
		"meminanenino"
	syllables = syllables "paperasasotu"
	if (parts != "") {
		write("/dev/stdout", parts)
		exit
	}
}

{
	for (i = 2; i <= NF; i++)
		write($1, $i)
	close($1)
}
