/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_EXTRACT_SHEET_H
#define CORE_EXTRACT_SHEET_H

#include "core/extract/parsers.h"

/*
 * Cells.  One table has one text, whether a workbook of Excel or an OpenDocument
 * has it: a number as it is stored, with up to 15 digits, not as it is shown; a
 * date as 2024-02-27, with the time behind it if there is one.  So programs write
 * tables as text, too.  A cell ends with a tab, a row with a line.
 */
struct workbook {
	struct buf strings;  /* that many cells share */
	size_t *string_ends; /* of each */
	size_t string_count;
	struct buf codes;    /* of formats of the workbook's own: id, code */
	bool *is_date_style; /* of the styles of cells */
	size_t style_count;
	bool is_1904; /* days count from there */
};

void workbook_release(struct workbook *b);

/* The main part; then the others in this order. */
enum extract_status workbook_read(struct workbook *b, const struct buf *source);
enum extract_status workbook_read_strings(struct workbook *b,
					  const struct buf *source);
enum extract_status workbook_read_styles(struct workbook *b,
					 const struct buf *source);
enum extract_status workbook_read_sheet(const struct workbook *b,
					struct document *d,
					const struct buf *source);

/* Appends a number in the one form.  What is none is appended as it is. */
int cell_append_number(struct buf *out, const char *number);

#endif
