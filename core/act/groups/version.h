/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GROUPS_VERSION_H
#define CORE_GROUPS_VERSION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * The version of a thing, as its name tells it.  A path without its extension is
 * words, dates and marks of a version, with anything but letters and digits
 * between; letter case does not count:
 *
 *	2024-03-01 Report (final).docx
 *	date 20240301, stem "report", mark final
 *
 * Two names of one stem are versions of one thing.  The marks are kept in their
 * order as text, a letter each, with the number behind it, and "e" ends them;
 * so that strverscmp() compares versions:
 *
 *	a old  b alpha  c draft  d candidate  e none  f copy  g number  h final
 *
 *	report_draft "ce" < report "e" < report (1) "f1e" < report_v2 "g2e"
 *	< report_v2_final "g2he" < report_v2.1 "g2~1e" < report_v10 "g10e"
 *	< report_final "he" < report_final_v2 "hg2e"
 */
struct version {
	struct buf stem, marks;
	int32_t date; /* YYYYMMDD; 0: none */
	bool is_part; /* a number follows a word at once: utf8 */
};

/* -ENOMEM.  The caller releases what it gets, in any case. */
int version_read(const char *path, struct version *out);
void version_release(struct version *v);

/* Negative: a is older than b, of one stem. */
int version_compare(const struct version *a, const struct version *b);

#endif
