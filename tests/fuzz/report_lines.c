/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/report.h"
#include "tests/fuzz/fuzz.h"

/*
 * Lists of groups, which a program other than kin may have written, as a page.
 * Whatever is in them, the page has the same elements.
 */

static size_t elements_of(const char *page)
{
	size_t count = 0;

	for (; (page = strchr(page, '<')); page++)
		count++;
	return count;
}

static size_t write_page(struct report *r)
{
	static const struct groups_wish wish;
	const struct groups g = { .root = (char *)"/", .wish = &wish };
	struct buf page = { 0 };
	size_t elements;

	assert_int_equal(report_page(r, &g, &page), 0);
	elements = elements_of(page.data);
	buf_release(&page);
	return elements;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct report r, empty;
	struct groups g;
	FILE *in = len ? fmemopen((void *)data, len, "r") : NULL;

	report_init(&r);
	report_init(&empty);
	if (in) {
		groups_read(&g, in);
		while (groups_next(&g) > 0 && !report_add_group(&r, &g.group))
			;
		groups_close(&g);
	}
	assert_int_equal(write_page(&r), write_page(&empty));
	report_release(&empty);
	report_release(&r);
	return 0;
}
