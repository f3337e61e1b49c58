/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <time.h>

#include "core/extract/parsers.h"

/* Years that a document may have: others are a mistake of a program. */
enum { YEAR_FIRST = 1900, YEAR_LAST = 2999 };

static const char *const formats[] = { " %Y-%m-%dT%H:%M:%S",
				       " %Y-%m-%dT%H:%M",
				       " %Y-%m-%d",
				       " %Y-%m",
				       " %Y",
				       NULL };

/* By the first of the formats that fits; a fraction and a zone may follow. */
int64_t date_of_w3c(const char *text)
{
	struct tm t, zone = { 0 };
	const char *rest = NULL;
	size_t i;

	for (i = 0; text && !rest && formats[i]; i++) {
		t = (struct tm){ .tm_mday = 1 };
		rest = strptime(text, formats[i], &t);
		if (rest && *rest == '-' && !strchr(formats[i], 'H'))
			rest = NULL; /* of 2024-13 not even the year counts */
	}
	if (!rest || t.tm_year + 1900 < YEAR_FIRST ||
	    t.tm_year + 1900 > YEAR_LAST)
		return EXTRACT_NO_DATE;
	rest += strspn(rest, ".0123456789");
	(void)strptime(rest, " %z", &zone);
	return timegm(&t) - zone.tm_gmtoff;
}
