/* SPDX-License-Identifier: Apache-2.0 */
#include "core/act/report/report_impl.h"

/*
 * The files of the page.  The assembler reads them into the program, so the
 * build needs no tool but the compiler; the Makefile says that this file
 * depends on them.  REPORT_D3 is the folder of Debian's packages node-d3-*.
 */
#define ASSET(name, path)                                               \
	__asm__(".pushsection .rodata\n"                                \
		".globl report_" #name "_start, report_" #name "_end\n" \
		"report_" #name "_start:\n"                             \
		".incbin \"" path "\"\n"                                \
		"report_" #name "_end:\n"                               \
		".byte 0\n"                                             \
		".popsection\n");                                       \
	extern const char report_##name##_start[], report_##name##_end[]

#define BOUNDS(name)                                       \
	{                                                  \
		report_##name##_start, report_##name##_end \
	}

ASSET(html, "core/act/report/template.html");
ASSET(css, "core/act/report/page.css");
ASSET(bsd, "core/act/report/d3.licence");
ASSET(d3_array, REPORT_D3 "/d3-array/dist/d3-array.min.js");
ASSET(d3_hierarchy, REPORT_D3 "/d3-hierarchy/dist/d3-hierarchy.min.js");
ASSET(format, "core/act/report/format.js");
ASSET(model, "core/act/report/model.js");
ASSET(filter, "core/act/report/filter.js");
ASSET(treemap, "core/act/report/treemap.js");
ASSET(histogram, "core/act/report/histogram.js");
ASSET(rows, "core/act/report/rows.js");
ASSET(groups, "core/act/report/groups.js");
ASSET(lists, "core/act/report/lists.js");
ASSET(chosen, "core/act/report/chosen.js");
ASSET(main, "core/act/report/main.js");

const struct report_asset report_template = BOUNDS(html);
const struct report_asset report_style = BOUNDS(css);
const struct report_asset report_licence = BOUNDS(bsd);

const struct report_asset report_scripts[REPORT_SCRIPTS] = {
	BOUNDS(d3_array),  BOUNDS(d3_hierarchy), BOUNDS(format),
	BOUNDS(model),     BOUNDS(filter),       BOUNDS(treemap),
	BOUNDS(histogram), BOUNDS(rows),         BOUNDS(groups),
	BOUNDS(lists),     BOUNDS(chosen),       BOUNDS(main),
};
