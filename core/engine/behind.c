/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine_impl.h"

/* Changes that others than the host made. */

enum standing { UNKNOWN, CHANGED, UNCHANGED };

/* What the catalog says of the file; the first scan finds what it has not. */
static enum standing standing_of(struct engine *e, const struct file_key *key,
				 const struct file_identity *identity)
{
	struct catalog_txn *txn;
	struct file_record rec;
	int err;

	if (!catalog_is_open(e->catalog) || catalog_read(e->catalog, &txn))
		return CHANGED;
	err = catalog_file_get(txn, key, &rec);
	catalog_abort(txn);
	if (err == -ENOENT)
		return UNKNOWN;
	return !err && file_identity_equal(&rec.identity, identity) ?
		       UNCHANGED :
		       CHANGED;
}

/* A file that is open for writing through the host is reported by its close. */
bool engine_file_changed(struct engine *e, int fd, const struct stat *st)
{
	struct file_identity identity;
	enum standing standing;
	struct file_key key;

	source_get_key(&e->source, fd, st, &key);
	source_get_identity(st, &identity);
	standing = standing_of(e, &key, &identity);
	if (standing == CHANGED &&
	    source_get_use(&e->source, st) == SOURCE_UNUSED)
		engine_file_closed(e, &key, &identity);
	return standing != UNKNOWN;
}

static bool is_below(const struct engine *e, int fd, const struct file_key *key,
		     const struct stat *st)
{
	const struct source *source = &e->source;
	bool below;
	char *path;

	if (file_key_equal(key, &source->root))
		return true;
	if ((!source->rules.cross && st->st_dev != source->device) ||
	    source_get_path(source, fd, &path))
		return false;
	below = !source_is_excluded(source, path);
	free(path);
	return below;
}

bool engine_directory_changed(struct engine *e, int fd, const struct stat *st)
{
	struct file_key key;

	source_get_key(&e->source, fd, st, &key);
	if (!is_below(e, fd, &key, st))
		return false;
	scan_request_directory(&e->scan, &key, fd);
	return true;
}
