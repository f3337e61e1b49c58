/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/cross_check.h"

#include <errno.h>

/*
 * Every database is walked once; of each record, what it implies elsewhere is
 * looked up.  Errors of the system end the check, contradictions are written
 * down, each with the edits that would end it, if anybody wants them.
 */
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
	{ DB_TEXTS, cross_check_texts },
	{ DB_SKETCHES, cross_check_sketch },
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
	return result || !c->edits ? result : edits_apply(c->edits, c->txn);
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
	if (c->edits) {
		c->txn->meta.counts = *now;
		c->txn->meta_changed = true;
	}
	return cross_check_note(c, "the counts are wrong");
}

int cross_check_all(struct cross_check *c)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = check_table(c, &tables[i]);
	if (!err)
		err = check_counts(c);
	if (!err && c->findings > CHECK_FINDINGS_MAX)
		err = buf_append_format(c->report, "and %u more\n",
					c->findings - CHECK_FINDINGS_MAX);
	return err;
}

int catalog_check(struct catalog_txn *txn, const struct file_key *root,
		  struct buf *report)
{
	struct cross_check c = { .txn = txn, .root = root, .report = report };
	int err = cross_check_all(&c);

	if (err)
		return err;
	return c.findings ? -EUCLEAN : 0;
}
