/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/extract/parsers.h"

/* Years that a document may have: others are a mistake of a program. */
enum { YEAR_FIRST = 1900, YEAR_LAST = 2999 };

static int64_t date_of(const struct tm *fields, int zone_minutes)
{
	struct tm copy = *fields;

	if (copy.tm_year + 1900 < YEAR_FIRST ||
	    copy.tm_year + 1900 > YEAR_LAST || copy.tm_mon < 0 ||
	    copy.tm_mon > 11 || copy.tm_mday < 1 || copy.tm_mday > 31 ||
	    copy.tm_hour > 24 || copy.tm_min > 59 || copy.tm_sec > 60)
		return EXTRACT_NO_DATE;
	return timegm(&copy) - zone_minutes * INT64_C(60);
}

/* "+02:00", "-0330", "Z" or nothing: minutes. */
static int zone_of(const char *text)
{
	unsigned hours = 0, minutes = 0;
	char sign = '+';

	while (*text == ' ')
		text++;
	if (sscanf(text, "%c%2u:%2u", &sign, &hours, &minutes) < 3)
		minutes = 0;
	if (!minutes && sscanf(text, "%c%2u%2u", &sign, &hours, &minutes) < 3)
		minutes = 0;
	if (sign != '+' && sign != '-')
		return 0;
	return (sign == '-' ? -1 : 1) * (int)(hours * 60 + minutes);
}

int64_t date_of_w3c(const char *text)
{
	struct tm t = { .tm_mday = 1 };
	int zone = 0, used = 0, read;

	if (!text)
		return EXTRACT_NO_DATE;
	while (*text && strchr(" \t\r\n", *text))
		text++;
	read = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon,
		      &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &used);
	if (read < 1)
		return EXTRACT_NO_DATE;
	t.tm_year -= 1900;
	t.tm_mon -= read > 1;
	if (read == 6) {
		text += used;
		text += strspn(text, ".0123456789");
		zone = zone_of(text);
	}
	return date_of(&t, zone);
}

int64_t date_of_mail(const char *text)
{
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char month[4] = "";
	const char *comma = strchr(text, ','), *found;
	struct tm t = { 0 };
	int used = 0;

	if (sscanf(comma ? comma + 1 : text, "%2d %3s %4d %2d:%2d%n",
		   &t.tm_mday, month, &t.tm_year, &t.tm_hour, &t.tm_min,
		   &used) < 5)
		return EXTRACT_NO_DATE;
	text = (comma ? comma + 1 : text) + used;
	if (sscanf(text, ":%2d%n", &t.tm_sec, &used) == 1)
		text += used;
	found = strcasestr(months, month);
	if (strlen(month) != 3 || !found || (found - months) % 3)
		return EXTRACT_NO_DATE;
	t.tm_mon = (int)(found - months) / 3;
	t.tm_year -= 1900;
	return date_of(&t, zone_of(text));
}
