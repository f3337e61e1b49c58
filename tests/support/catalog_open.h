/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CATALOG_OPEN_H
#define TESTS_SUPPORT_CATALOG_OPEN_H

#include "core/catalog/catalog.h"

/* Opens a catalog in the calling thread, which may take long. */
static inline int catalog_open(const struct catalog_options *options,
			       struct catalog **out)
{
	struct catalog *c;
	int err = catalog_begin(options, &c);

	if (err)
		return err;
	err = catalog_finish(c);
	catalog_admit(c, err);
	if (err)
		catalog_free(c);
	else
		*out = c;
	return err;
}

#endif
