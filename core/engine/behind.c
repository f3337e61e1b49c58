/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/engine_impl.h"

/* Changes that other processes made behind the mount. */

enum record_state { RECORD_UNKNOWN, RECORD_DIFFERS, RECORD_MATCHES };

/* Compares the file with its record.  While the catalog is not open, every file
 * counts as changed. */
static enum record_state compare_record(struct engine *e,
					const struct file_key *key,
					const struct file_identity *identity)
{
	struct catalog_txn *txn;
	struct file_record rec;
	int err;

	if (!catalog_is_open(e->catalog) || catalog_read(e->catalog, &txn))
		return RECORD_DIFFERS;
	err = catalog_file_get(txn, key, &rec);
	catalog_abort(txn);
	if (err == -ENOENT)
		return RECORD_UNKNOWN;
	return !err && file_identity_equal(&rec.identity, identity) ?
		       RECORD_MATCHES :
		       RECORD_DIFFERS;
}

/* A file that is open for writing in the host is skipped: the host reports it
 * when it is closed. */
bool engine_file_changed(struct engine *e, int fd, const struct stat *st)
{
	struct file_identity identity;
	enum record_state record;
	struct file_key key;

	source_get_key(&e->source, fd, st, &key);
	source_get_identity(st, &identity);
	record = compare_record(e, &key, &identity);
	if (record == RECORD_DIFFERS &&
	    source_get_use(&e->source, st) == SOURCE_UNUSED)
		hash_file_closed(&e->hash, &key, &identity);
	return record != RECORD_UNKNOWN;
}

/* Whether the directory is SOURCE or below it, and no rule excludes it. */
static bool is_in_source(const struct engine *e, int fd,
			 const struct file_key *key, const struct stat *st)
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
	if (!is_in_source(e, fd, &key, st))
		return false;
	scan_request_directory(&e->scan, &key, fd);
	return true;
}
