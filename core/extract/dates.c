/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "core/extract/parsers.h"

/* Years that a document may have: others are a mistake of a program. */
enum { YEAR_FIRST = 1900, YEAR_LAST = 2999 };

/* By the first of the formats that fits; a fraction and a zone may follow. */
static int64_t date_of(const char *text, const char *const *formats)
{
	struct tm t, zone = { 0 };
	const char *rest = NULL;

	for (; !rest && *formats; formats++) {
		t = (struct tm){ .tm_mday = 1 };
		rest = strptime(text, *formats, &t);
		if (rest && *rest == '-' && !strchr(*formats, 'H'))
			rest = NULL; /* of 2024-13 not even the year counts */
	}
	if (!rest || t.tm_year + 1900 < YEAR_FIRST ||
	    t.tm_year + 1900 > YEAR_LAST)
		return EXTRACT_NO_DATE;
	rest += strspn(rest, ".0123456789");
	(void)strptime(rest, " %z", &zone);
	return timegm(&t) - zone.tm_gmtoff;
}

int64_t date_of_w3c(const char *text)
{
	static const char *const formats[] = { " %Y-%m-%dT%H:%M:%S",
					       " %Y-%m-%dT%H:%M",
					       " %Y-%m-%d",
					       " %Y-%m",
					       " %Y",
					       NULL };

	return text ? date_of(text, formats) : EXTRACT_NO_DATE;
}

int64_t date_of_mail(const char *text)
{
	static const char *const formats[] = { " %d %b %Y %H:%M:%S",
					       " %d %b %Y %H:%M", NULL };
	const char *comma = strchr(text, ',');

	return date_of(comma ? comma + 1 : text, formats);
}
