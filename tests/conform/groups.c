/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

extern const struct suite group_open;
extern const struct suite group_rename;
extern const struct suite group_readonly;

const struct suite *const groups[] = {
	&group_open,
	&group_rename,
	&group_readonly,
	NULL,
};
