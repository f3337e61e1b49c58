/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/bytes.h"

/* A report that nobody reads to the end need not be complete. */
#define FINDINGS_MAX 1000

/*
 * Every database is walked once; of each record, what it implies elsewhere is
 * looked up.  Errors of the system end the check, contradictions are written
 * down.
 */
struct check {
	struct catalog_txn *txn;
	const struct file_key *root;
	struct buf *report;
	unsigned findings;
	struct catalog_counts counts; /* counted anew */
};

struct table {
	enum catalog_db db;
	int (*check)(struct check *c, const MDB_val *key, const MDB_val *value);
};

static int note(struct check *c, const char *text)
{
	c->findings++;
	if (c->findings > FINDINGS_MAX)
		return 0;
	return buf_append_format(c->report, "%s\n", text);
}

static int note_file(struct check *c, const struct file_key *key,
		     const char *text)
{
	c->findings++;
	if (c->findings > FINDINGS_MAX)
		return 0;
	return buf_append_format(
		c->report, "file %" PRIu32 ":%" PRIu64 ":%" PRIu32 ": %s\n",
		key->device, key->inode, key->generation, text);
}

static int note_content(struct check *c, uint32_t content, const char *text)
{
	c->findings++;
	if (c->findings > FINDINGS_MAX)
		return 0;
	return buf_append_format(c->report, "content %" PRIu32 ": %s\n",
				 content, text);
}

/* 1 when that file has a readable record, 0 when not. */
static int file_find(struct check *c, const struct file_key *key,
		     struct file_record *out)
{
	int err = catalog_file_get(c->txn, key, out);

	if (err == -ENOENT || err == -EUCLEAN)
		return 0;
	return err ? err : 1;
}

/* The same of a content. */
static int content_find(struct check *c, uint32_t content, struct digests *out)
{
	uint8_t id[CONTENT_KEY_BYTES];
	MDB_val value;
	int err;

	store_be32(id, content);
	err = txn_get(c->txn, DB_CONTENTS, id, sizeof(id), &value);
	if (!err)
		err = content_decode(&value, out);
	if (err == -ENOENT || err == -EUCLEAN)
		return 0;
	return err ? err : 1;
}

/* ---- files ---- */

static int check_fresh(struct check *c, const struct file_key *key,
		       const struct file_record *r)
{
	uint8_t copy[COPY_KEY_BYTES];
	struct digests d = { 0 };
	bool listed;
	int found;
	int err;

	copy_key_store(r->content, key, copy);
	listed = txn_has(c->txn, DB_COPIES, copy, sizeof(copy), &err);
	if (!err && !listed)
		err = note_file(c, key, "not among the copies of its content");
	if (err)
		return err;
	found = content_find(c, r->content, &d);
	if (found < 0)
		return found;
	if (!found)
		return note_file(c, key, "its content is missing");
	if (d.size != r->identity.size)
		return note_file(c, key, "not as long as its content");
	return 0;
}

static int check_pending(struct check *c, const struct file_key *key)
{
	uint8_t k[FILE_KEY_BYTES];
	bool listed;
	int err;

	file_key_store(key, k);
	listed = txn_has(c->txn, DB_PENDING, k, sizeof(k), &err);
	if (!err && !listed)
		err = note_file(c, key, "not on the pending list");
	return err;
}

static int check_directory(struct check *c, const struct file_key *key,
			   const struct file_record *r)
{
	static const struct file_identity none;
	uint8_t prefix[FILE_KEY_BYTES];
	struct scan s;
	int found;
	int err;

	if (!file_identity_equal(&r->identity, &none)) {
		err = note_file(c, key, "a directory with an identity");
		if (err)
			return err;
	}
	file_key_store(key, prefix);
	err = scan_open(c->txn, DB_LINKS, prefix, sizeof(prefix), &s);
	if (err)
		return err;
	found = scan_next(&s);
	if (found == 1)
		found = scan_next(&s);
	scan_close(&s);
	return found == 1 ? note_file(c, key, "a directory with two names") :
			    found;
}

static void count_file(struct catalog_counts *n, const struct file_record *r)
{
	n->directories += r->state == FILE_DIRECTORY;
	n->files += r->state != FILE_DIRECTORY;
	n->fresh += r->state == FILE_FRESH;
	n->failed += r->state == FILE_FAILED;
	n->pending += r->state == FILE_PENDING;
	if (r->state == FILE_PENDING)
		n->pending_bytes += r->identity.size;
}

static int check_file(struct check *c, const MDB_val *key, const MDB_val *value)
{
	struct file_record r;
	struct file_key k;
	int err;

	if (file_key_decode(key, &k))
		return note(c, "a file record with a wrong key");
	if (file_record_decode(value, &r))
		return note_file(c, &k, "unreadable record");
	count_file(&c->counts, &r);
	if (c->root && file_key_equal(&k, c->root) &&
	    r.state != FILE_DIRECTORY) {
		err = note_file(c, &k, "the root is no directory");
		if (err)
			return err;
	}
	if (r.state == FILE_FRESH)
		return check_fresh(c, &k, &r);
	if (r.state == FILE_PENDING)
		return check_pending(c, &k);
	if (r.state == FILE_DIRECTORY)
		return check_directory(c, &k, &r);
	return 0;
}

static int check_pending_mark(struct check *c, const MDB_val *key,
			      const MDB_val *value)
{
	struct file_record r;
	struct file_key k;
	int found;

	if (file_key_decode(key, &k) || value->mv_size != 0)
		return note(c, "a malformed pending mark");
	found = file_find(c, &k, &r);
	if (found < 0)
		return found;
	if (!found || r.state != FILE_PENDING)
		return note_file(c, &k, "on the pending list, but not pending");
	return 0;
}

/* ---- names ---- */

static int check_link_of_name(struct check *c, const struct file_key *parent,
			      struct catalog_name name,
			      const struct file_key *key)
{
	uint8_t link[LINK_KEY_BYTES_MAX];
	size_t len = link_key_store(key, parent, name, link);
	bool found;
	int err;

	found = txn_has(c->txn, DB_LINKS, link, len, &err);
	if (!err && !found)
		err = note_file(c, key, "a name that it does not know of");
	return err;
}

static int check_name(struct check *c, const MDB_val *key, const MDB_val *value)
{
	struct file_key parent, k;
	struct catalog_name name;
	struct file_record r;
	int found;
	int err;

	if (name_key_decode(key, &parent, &name) || file_key_decode(value, &k))
		return note(c, "a malformed name");
	err = check_link_of_name(c, &parent, name, &k);
	if (err)
		return err;
	found = file_find(c, &k, &r);
	if (found < 0)
		return found;
	if (!found) {
		err = note_file(c, &k, "has a name and no record");
		if (err)
			return err;
	}
	found = file_find(c, &parent, &r);
	if (found < 0)
		return found;
	if (!found || r.state != FILE_DIRECTORY)
		return note_file(c, &parent, "has entries, is no directory");
	return 0;
}

static int check_link(struct check *c, const MDB_val *key, const MDB_val *value)
{
	struct file_key k, parent, target;
	struct catalog_name name;
	int err;

	if (link_key_decode(key, &k, &parent, &name) || value->mv_size != 0)
		return note(c, "a malformed link");
	err = catalog_name_get(c->txn, &parent, name, &target);
	if (err && err != -ENOENT && err != -EUCLEAN)
		return err;
	if (err || !file_key_equal(&target, &k))
		return note_file(c, &k, "claims a name that is not its own");
	return 0;
}

/* ---- contents ---- */

static int check_texts_of(struct check *c, uint32_t content,
			  const struct digests *d)
{
	uint8_t id[CONTENT_KEY_BYTES];
	bool wanted = d->set & CATALOG_TEXTS;
	bool sketch = d->set & DIGEST_BIT(DIGEST_SIF);
	int err, sketch_err;

	store_be32(id, content);
	wanted ^= txn_has(c->txn, DB_TEXTS, id, sizeof(id), &err);
	sketch ^= txn_has(c->txn, DB_SKETCHES, id, sizeof(id), &sketch_err);
	err = err ?: sketch_err;
	if (!err && wanted)
		err = note_content(c, content, "texts and digest set disagree");
	if (!err && sketch)
		err = note_content(c, content,
				   "sketch and digest set disagree");
	return err;
}

static int check_identity_of(struct check *c, uint32_t content,
			     const struct digests *d)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	MDB_val value;
	uint32_t id = 0;
	int err;

	identity_key_store(d, identity);
	err = txn_get(c->txn, DB_IDENTITIES, identity, sizeof(identity),
		      &value);
	if (err && err != -ENOENT)
		return err;
	if (!err)
		err = content_id_decode(&value, &id);
	if (err || id != content)
		return note_content(c, content, "not found by its identity");
	return 0;
}

static int check_content(struct check *c, const MDB_val *key,
			 const MDB_val *value)
{
	uint32_t content;
	struct digests d;
	MDB_val k, v;
	int err;

	if (content_id_decode(key, &content))
		return note(c, "a content with a wrong key");
	if (content_decode(value, &d))
		return note_content(c, content, "unreadable record");
	c->counts.contents++;
	c->counts.content_bytes += d.size;
	if (content >= c->txn->meta.next_content) {
		err = note_content(c, content, "its id was not given out yet");
		if (err)
			return err;
	}
	err = check_texts_of(c, content, &d);
	if (!err)
		err = check_identity_of(c, content, &d);
	if (err)
		return err;
	err = txn_first(c->txn, DB_COPIES, key->mv_data, key->mv_size, &k, &v);
	return err == -ENOENT ? note_content(c, content, "no file has it") :
				err;
}

static int check_texts(struct check *c, const MDB_val *key,
		       const MDB_val *value)
{
	uint32_t content;
	struct digests d;
	int found, err;

	if (content_id_decode(key, &content))
		return note(c, "texts with a wrong key");
	found = content_find(c, content, &d);
	if (found < 0)
		return found;
	if (!found)
		return note_content(c, content, "texts and no record");
	err = texts_decode(value, &d);
	digests_release(&d);
	return err == -EUCLEAN ? note_content(c, content, "unreadable texts") :
				 err;
}

static int check_sketch(struct check *c, const MDB_val *key,
			const MDB_val *value)
{
	struct sif_sketch sketch;
	struct digests d;
	uint32_t content;
	int found;

	if (content_id_decode(key, &content))
		return note(c, "a sketch with a wrong key");
	found = content_find(c, content, &d);
	if (found < 0)
		return found;
	if (!found)
		return note_content(c, content, "a sketch and no record");
	if (sketch_decode(value, &sketch))
		return note_content(c, content, "an unreadable sketch");
	return 0;
}

static int check_identity(struct check *c, const MDB_val *key,
			  const MDB_val *value)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	uint32_t content;
	struct digests d;
	int found;

	if (key->mv_size != sizeof(identity) ||
	    content_id_decode(value, &content))
		return note(c, "a malformed identity");
	found = content_find(c, content, &d);
	if (found < 0)
		return found;
	if (found)
		identity_key_store(&d, identity);
	if (!found || memcmp(identity, key->mv_data, sizeof(identity)) != 0)
		return note_content(c, content, "found by a wrong identity");
	return 0;
}

static int check_copy(struct check *c, const MDB_val *key, const MDB_val *value)
{
	uint32_t content;
	struct file_record r;
	struct file_key k;
	int found;

	if (copy_key_decode(key, &content, &k) || value->mv_size != 0)
		return note(c, "a malformed copy");
	found = file_find(c, &k, &r);
	if (found < 0)
		return found;
	if (!found || r.state != FILE_FRESH || r.content != content)
		return note_file(c, &k, "listed as a copy of a wrong content");
	return 0;
}

/* ---- all of it ---- */

static const struct table tables[] = {
	{ DB_FILES, check_file },       { DB_PENDING, check_pending_mark },
	{ DB_NAMES, check_name },       { DB_LINKS, check_link },
	{ DB_CONTENTS, check_content }, { DB_TEXTS, check_texts },
	{ DB_SKETCHES, check_sketch },  { DB_IDENTITIES, check_identity },
	{ DB_COPIES, check_copy },
};

static int check_table(struct check *c, const struct table *t)
{
	struct scan s;
	int result;
	int err;

	err = scan_open(c->txn, t->db, NULL, 0, &s);
	if (err)
		return err;
	while ((result = scan_next(&s)) == 1) {
		result = t->check(c, &s.key, &s.value);
		if (result)
			break;
	}
	scan_close(&s);
	return result;
}

static int check_counts(struct check *c)
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
	return note(c, "the counts are wrong");
}

int catalog_check(struct catalog_txn *txn, const struct file_key *root,
		  struct buf *report)
{
	struct check c = { .txn = txn, .root = root, .report = report };
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = check_table(&c, &tables[i]);
	if (!err)
		err = check_counts(&c);
	if (!err && c.findings > FINDINGS_MAX)
		err = buf_append_format(report, "and %u more\n",
					c.findings - FINDINGS_MAX);
	if (err)
		return err;
	return c.findings ? -EUCLEAN : 0;
}
