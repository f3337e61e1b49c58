/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_CATALOG_SET_H
#define TESTS_SUPPORT_CATALOG_SET_H

#include "core/catalog/catalog.h"

/* Records as the committer makes them. */

static inline int catalog_file_set_pending(struct catalog_txn *txn,
					   const struct file_key *key,
					   const struct file_identity *identity)
{
	return catalog_file_set(txn, key,
				&(struct file_record){ .identity = *identity,
						       .state = FILE_PENDING });
}

static inline int catalog_file_set_failed(struct catalog_txn *txn,
					  const struct file_key *key,
					  const struct file_identity *identity,
					  uint16_t error)
{
	return catalog_file_set(txn, key,
				&(struct file_record){ .identity = *identity,
						       .state = FILE_FAILED,
						       .error = error });
}

static inline int catalog_directory_set(struct catalog_txn *txn,
					const struct file_key *key)
{
	return catalog_file_set(
		txn, key, &(struct file_record){ .state = FILE_DIRECTORY });
}

#endif
