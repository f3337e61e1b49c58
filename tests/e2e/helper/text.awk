# SPDX-License-Identifier: Apache-2.0
#
# Made-up prose.  Without edit: `lines` lines of it.  With edit: copies the
# input and replaces `percent` of its lines, in runs of up to 20, as people
# rewrite paragraphs.

function next_random() {
	random = (random * 16807) % 2147483647
	return random
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

BEGIN {
	syllables = "babebibodadedidofafefifogagegigokakekikolalelilomama" \
		"meminanenino"
	syllables = syllables "paperasasotu"
	random = 1 + (seed * 7919 + 12345) % 2147483646
	next_random()
	next_random()
	if (!edit) {
		while (lines-- > 0)
			print line()
		exit
	}
}

# Of every stretch of 20 * 100 / percent lines the first 20 are replaced.
{
	stretch = percent > 0 ? 2000 / percent : 1e9
	if ((NR - 1) % stretch < 20)
		print line()
	else
		print
}
