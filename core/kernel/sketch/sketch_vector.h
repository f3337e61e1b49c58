/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_KERNEL_SKETCH_SKETCH_VECTOR_H
#define CORE_KERNEL_SKETCH_SKETCH_VECTOR_H

#include "core/kernel/sketch/sketch.h"

/*
 * The functions of the sketch with any vectors.  A file that includes this has
 * defined TARGET_FEATURES, and TARGET for what is inlined; STEP, the bytes of a
 * vector; the type vector; load(p); fold_step(p, out), which is fold() of STEP
 * bytes; and for lanes of 32 bits same(value), add(), multiply(), mix(x), which
 * is x ^ x >> SKETCH_MIX_SHIFT, lesser(), exclusive_or(), up_to(x, most), a bit
 * for each lane that is not above most, store_lanes(out, x, bits), which writes
 * the lanes with a bit and may write STEP bytes, steps_of_4(), which is 0, 4, 8
 * and so on, and has_zero_word(x), whether a lane of 64 bits is 0.
 */
#ifdef TARGET

#define TARGET_FUNCTION __attribute__((target(TARGET_FEATURES)))

TARGET_FUNCTION static size_t fold(const uint8_t *bytes, size_t count,
				   uint8_t *out)
{
	size_t i, kept = 0;

	for (i = 0; i + STEP <= count; i += STEP)
		kept += fold_step(bytes + i, out + kept);
	return kept + sketch_scalar.fold(bytes + i, count - i, out + kept);
}

/* Of the windows at p, p + 4, p + 8 and so on. */
static TARGET inline vector filters_at(const uint8_t *p)
{
	const vector by_half = same(SKETCH_HALF_FACTOR);
	vector first = add(multiply(load(p), by_half), load(p + 4));
	vector second = add(multiply(load(p + 8), by_half), load(p + 12));
	vector x = add(multiply(first, same(SKETCH_WINDOW_FACTOR)), second);

	return multiply(mix(x), same(SKETCH_MIX_FACTOR));
}

static TARGET inline size_t put_found(vector filters, size_t place, vector most,
				      uint32_t *filters_out,
				      uint32_t *places_out)
{
	unsigned bits = up_to(filters, most);

	store_lanes(filters_out, filters, bits);
	store_lanes(places_out, add(same((uint32_t)place), steps_of_4()), bits);
	return (size_t)_mm_popcnt_u32(bits);
}

/* From here on most steps have no window that is found, and all windows of a
 * step are looked at together first. */
#define SPARSE (UINT32_MAX >> 6)

TARGET_FUNCTION static size_t scan(const uint8_t *bytes, size_t count,
				   uint32_t most, uint32_t *filters_out,
				   uint32_t *places_out)
{
	const vector bound = same(most);
	size_t i, k, n = 0, from;

	for (i = 0; i + STEP <= count; i += STEP) {
		vector f0 = filters_at(bytes + i);
		vector f1 = filters_at(bytes + i + 1);
		vector f2 = filters_at(bytes + i + 2);
		vector f3 = filters_at(bytes + i + 3);

		if (most <= SPARSE &&
		    !up_to(lesser(lesser(f0, f1), lesser(f2, f3)), bound))
			continue;
		n += put_found(f0, i, bound, filters_out + n, places_out + n);
		n += put_found(f1, i + 1, bound, filters_out + n,
			       places_out + n);
		n += put_found(f2, i + 2, bound, filters_out + n,
			       places_out + n);
		n += put_found(f3, i + 3, bound, filters_out + n,
			       places_out + n);
	}
	from = n;
	n += sketch_scalar.scan(bytes + i, count - i, most, filters_out + n,
				places_out + n);
	for (k = from; k < n; k++)
		places_out[k] += (uint32_t)i;
	return n;
}

/* A lane of 64 bits is 0 if nine bytes are equal, see sketch_scalar.c. */
static TARGET inline vector differences(const uint8_t *p)
{
	return exclusive_or(load(p + 7), load(p + 8));
}

/* Halves of two lanes of 64 bits that are 0 may come together and be taken for
 * one: then the windows are counted for nothing. */
TARGET_FUNCTION static size_t count_repeats(const uint8_t *bytes, size_t count)
{
	size_t i, repeats = 0;

	for (i = 0; i + 4 * STEP <= count; i += 4 * STEP) {
		const uint8_t *p = bytes + i;
		vector first = lesser(differences(p), differences(p + STEP));
		vector second = lesser(differences(p + 2 * STEP),
				       differences(p + 3 * STEP));

		if (has_zero_word(lesser(first, second)))
			repeats += sketch_scalar.count_repeats(p, 4 * STEP);
	}
	return repeats + sketch_scalar.count_repeats(bytes + i, count - i);
}

#endif

#endif
