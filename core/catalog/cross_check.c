/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/cross_check.h"

#include <errno.h>
#include <inttypes.h>

/* ---- findings ---- */

int cross_check_note(struct cross_check *c, const char *text)
{
	if (c->findings++ >= CROSS_CHECK_REPORTED)
		return 0;
	return buf_append_format(c->report, "%s\n", text);
}

int cross_check_note_file(struct cross_check *c, const struct file_key *key,
			  const char *text)
{
	if (c->findings++ >= CROSS_CHECK_REPORTED)
		return 0;
	return buf_append_format(
		c->report, "file %" PRIu32 ":%" PRIu64 ":%" PRIu32 ": %s\n",
		key->device, key->inode, key->generation, text);
}

int cross_check_note_content(struct cross_check *c, uint32_t content,
			     const char *text)
{
	if (c->findings++ >= CROSS_CHECK_REPORTED)
		return 0;
	return buf_append_format(c->report, "content %" PRIu32 ": %s\n",
				 content, text);
}

int cross_check_find_file(struct cross_check *c, const struct file_key *key,
			  struct file_record *out)
{
	int err = catalog_file_get(c->txn, key, out);

	if (err == -ENOENT || err == -EUCLEAN)
		return 0;
	return err ? err : 1;
}

int cross_check_find_content(struct cross_check *c, uint32_t content,
			     struct digests *out)
{
	int err = content_load(c->txn, content, out);

	if (err == -ENOENT || err == -EUCLEAN)
		return 0;
	return err ? err : 1;
}

/* ---- the walk ---- */

struct table {
	enum catalog_db db;
	int (*check)(struct cross_check *c, const MDB_val *key,
		     const MDB_val *value);
};

static const struct table tables[] = {
	{ DB_FILES, cross_check_file },
	{ DB_PENDING, cross_check_pending_mark },
	{ DB_NAMES, cross_check_name },
	{ DB_LINKS, cross_check_link },
	{ DB_CONTENTS, cross_check_content },
	{ DB_IDENTITIES, cross_check_identity },
	{ DB_COPIES, cross_check_copy },
};

static int check_table(struct cross_check *c, const struct table *t)
{
	struct record_scan s;
	int result;
	int err;

	err = record_scan_open(c->txn, t->db, NULL, 0, &s);
	if (err)
		return err;
	while ((result = record_scan_next(&s)) == 1) {
		result = t->check(c, &s.key, &s.value);
		if (result)
			break;
	}
	record_scan_close(&s);
	return result;
}

static int check_counts(struct cross_check *c)
{
	const struct catalog_counts *kept = &c->txn->meta.counts;
	const struct catalog_counts *now = &c->counts;

	if (kept->files == now->files &&
	    kept->directories == now->directories &&
	    kept->fresh == now->fresh && kept->failed == now->failed &&
	    kept->pending == now->pending &&
	    kept->pending_bytes == now->pending_bytes &&
	    kept->contents == now->contents &&
	    kept->content_bytes == now->content_bytes)
		return 0;
	return cross_check_note(c, "the counts are wrong");
}

int catalog_check(struct catalog_txn *txn, const struct file_key *root,
		  struct buf *report)
{
	struct cross_check c = { .txn = txn, .root = root, .report = report };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = check_table(&c, &tables[i]);
	for (c.digest = 0; !err && c.digest < DIGEST_COUNT; c.digest++)
		err = check_table(&c, &(struct table){ DB_DIGESTS + c.digest,
						       cross_check_digest });
	if (!err)
		err = check_counts(&c);
	if (!err && c.findings > CROSS_CHECK_REPORTED)
		err = buf_append_format(report, "and %u more\n",
					c.findings - CROSS_CHECK_REPORTED);
	if (err)
		return err;
	return c.findings ? -EUCLEAN : 0;
}
