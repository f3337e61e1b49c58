/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_REPORT_H
#define TESTS_SUPPORT_REPORT_H

#include "core/act/report/report.h"

/* A program keeps its report until it ends. */
static inline void report_release(struct report *r)
{
	buf_release(&r->lines);
	json_decref(r->saved);
	json_decref(r->alike);
	*r = (struct report){ 0 };
}

#endif
