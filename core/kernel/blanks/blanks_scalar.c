/* SPDX-License-Identifier: Apache-2.0 */
#include "core/kernel/blanks/blanks.h"

enum byte_class {
	CLASS_BLANK = 1,
	CLASS_CONTROL = 2,
	CLASS_NUL = 4,
	CLASS_LONG = 8, /* of a blank of several bytes, maybe */
};

/* What a byte is.  Zero: none of that. */
static const uint8_t classes[256] = {
	[0] = CLASS_NUL | CLASS_CONTROL,
	[1 ... 7] = CLASS_CONTROL,
	['\t' ... '\r'] = CLASS_BLANK,
	[0x0e ... 0x1a] = CLASS_CONTROL,
	[0x1c ... 0x1f] = CLASS_CONTROL,
	[' '] = CLASS_BLANK,
	[','] = CLASS_BLANK,
	[';'] = CLASS_BLANK,
	['|'] = CLASS_BLANK,
	[0xa0] = CLASS_LONG,
	[0xbb] = CLASS_LONG,
	[0xbf] = CLASS_LONG,
	[0xc2] = CLASS_LONG,
	[0xef] = CLASS_LONG,
};

static bool is_in_long_blank(const uint8_t *p)
{
	switch (p[0]) {
	case 0xc2:
		return p[1] == 0xa0;
	case 0xa0:
		return p[-1] == 0xc2;
	case 0xef:
		return p[1] == 0xbb && p[2] == 0xbf;
	case 0xbb:
		return p[-1] == 0xef && p[1] == 0xbf;
	default:
		return p[-2] == 0xef && p[-1] == 0xbb;
	}
}

/* Bytes are written before it is known whether they are kept: without a branch
 * on what cannot be foreseen. */
static size_t drop(const uint8_t *bytes, size_t count,
		   struct kernel_blanks_state *state, uint8_t *out)
{
	uint8_t *to = out;
	unsigned class, seen = 0;
	size_t i, controls = 0;

	for (i = 0; i < count; i++) {
		class = classes[bytes[i]];
		if (class == CLASS_LONG)
			class = is_in_long_blank(bytes + i);
		seen |= class;
		controls += class >> 1 & 1;
		*to = bytes[i];
		to += !(class & CLASS_BLANK);
	}
	state->controls += controls;
	state->has_nul |= (seen & CLASS_NUL) != 0;
	return (size_t)(to - out);
}

const struct kernel_blanks blanks_scalar = { drop };
