/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/err.h"

#include <errno.h>
#include <string.h>

const char *err_name(int err)
{
	const char *name = strerrorname_np(err < 0 ? -err : err);

	return name ? name : "E?";
}

int err_number(const char *name)
{
	int err;

	for (err = 1; err < 4096; err++) {
		const char *known = strerrorname_np(err);

		if (known && strcmp(known, name) == 0)
			return err;
	}
	return 0;
}

const char *err_text(int err)
{
	const char *text = strerrordesc_np(err < 0 ? -err : err);

	return text ? text : "unknown error";
}
