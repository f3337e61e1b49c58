/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/extract/picture/picture.h"

static uint32_t load(const uint8_t *p, size_t bytes, bool big)
{
	uint32_t v = 0;
	size_t i;

	for (i = 0; i < bytes; i++)
		v |= (uint32_t)p[i] << 8 * (big ? bytes - 1 - i : i);
	return v;
}

/* EXIF is a TIFF whose first directory has the orientation: entries of 12 bytes,
 * each with a tag, a type, a count and the value. */
unsigned orientation_of_exif(const uint8_t *exif, size_t len)
{
	enum { HEAD = 8, ENTRY = 12, ORIENTATION = 0x112, SHORT = 3 };
	uint32_t at, entries, value;
	bool big;

	/* Some writers put the mark of JPEG into other formats. */
	if (len >= 6 && !memcmp(exif, "Exif\0", 6)) {
		exif += 6;
		len -= 6;
	}
	if (len < HEAD ||
	    (memcmp(exif, "II*", 4) != 0 && memcmp(exif, "MM\0*", 4) != 0))
		return 1;
	big = exif[0] == 'M';
	at = load(exif + 4, 4, big);
	if (at > len - 2)
		return 1;
	entries = load(exif + at, 2, big);
	for (at += 2; entries && len - at >= ENTRY; entries--, at += ENTRY) {
		if (load(exif + at, 2, big) != ORIENTATION ||
		    load(exif + at + 2, 2, big) != SHORT)
			continue;
		value = load(exif + at + 8, 2, big);
		return value >= 1 && value <= 8 ? value : 1;
	}
	return 1;
}
