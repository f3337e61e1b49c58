/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CATALOG_EACH_H
#define TESTS_SUPPORT_CATALOG_EACH_H

#include <errno.h>

#include "core/catalog/catalog_impl.h"

/*
 * The walks of the catalog for tests that check every record: each() is called
 * until it does not return 0, and that is the result.
 */

#define EACH_RECORD(begin, next, each)                      \
	do {                                                \
		struct catalog_walk *walk_ = NULL;          \
		int result_ = (begin);                      \
                                                            \
		while (!result_ && (result_ = (next)) == 1) \
			result_ = (each);                   \
		catalog_walk_end(walk_);                    \
		return result_;                             \
	} while (0)

static inline int catalog_entry_each(struct catalog_txn *txn,
				     const struct file_key *directory,
				     int (*each)(void *arg,
						 struct catalog_name name,
						 const struct file_key *key),
				     void *arg)
{
	struct catalog_name name;
	struct file_key key;

	EACH_RECORD(catalog_entries_begin(txn, directory, &walk_),
		    catalog_entries_next(walk_, &name, &key),
		    each(arg, name, &key));
}

static inline int catalog_path_each(struct catalog_txn *txn,
				    const struct file_key *root,
				    const struct file_key *key,
				    int (*each)(void *arg, const char *path),
				    void *arg)
{
	const char *path;

	EACH_RECORD(catalog_paths_begin(txn, root, key, &walk_),
		    catalog_paths_next(walk_, &path), each(arg, path));
}

/* All contents in ascending order of id, with fixed-size digests only. */
static inline int next_content(struct catalog_walk *w, uint32_t *content_out,
			       struct digests *out)
{
	int err, found = walk_next(w);

	if (found != 1)
		return found;
	err = content_id_decode(&w->key, content_out);
	if (!err)
		err = catalog_content_get(w->txn, *content_out, 0, out);
	return err ? err : 1;
}

static inline int catalog_content_each(struct catalog_txn *txn,
				       int (*each)(void *arg, uint32_t content,
						   const struct digests *d),
				       void *arg)
{
	struct digests d;
	uint32_t content;

	EACH_RECORD(walk_begin(txn, DB_CONTENTS, ANY_KEY, &walk_),
		    next_content(walk_, &content, &d), each(arg, content, &d));
}

static inline int catalog_sketch_each(struct catalog_txn *txn,
				      int (*each)(void *arg, uint32_t content,
						  const uint8_t *packed,
						  size_t len),
				      void *arg)
{
	const uint8_t *packed;
	uint32_t content;
	size_t len;

	EACH_RECORD(catalog_sketches_begin(txn, &walk_),
		    catalog_sketches_next(walk_, &content, &packed, &len),
		    each(arg, content, packed, len));
}

/* The files with that content. */
static inline int catalog_copy_each(struct catalog_txn *txn, uint32_t content,
				    int (*each)(void *arg, uint32_t content,
						const struct file_key *key),
				    void *arg)
{
	struct file_key key;
	int result = catalog_copy_after(txn, content, NULL, &key);

	while (!result) {
		result = each(arg, content, &key);
		if (!result)
			result = catalog_copy_after(txn, content, &key, &key);
	}
	return result == -ENOENT ? 0 : result;
}

#endif
