/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/check_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/base/bytes.h"

/* A report that nobody reads to the end need not be complete. */
#define FINDINGS_MAX 1000

/*
 * Every database is walked once; of each record, what it implies elsewhere is
 * looked up.  Errors of the system end the check, contradictions are written
 * down, each with the edits that would end it, if anybody wants them.
 */
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

/* ---- findings with the record that has to go ---- */

static int drop(struct check *c, enum catalog_db db, const MDB_val *key)
{
	return edits_drop(c->edits, db, key->mv_data, key->mv_size);
}

static int wrong(struct check *c, enum catalog_db db, const MDB_val *key,
		 const char *text)
{
	int err = note(c, text);

	return err ? err : drop(c, db, key);
}

static int wrong_file(struct check *c, enum catalog_db db, const MDB_val *key,
		      const struct file_key *file, const char *text)
{
	int err = note_file(c, file, text);

	return err ? err : drop(c, db, key);
}

static int wrong_content(struct check *c, enum catalog_db db,
			 const MDB_val *key, uint32_t content, const char *text)
{
	int err = note_content(c, content, text);

	return err ? err : drop(c, db, key);
}

/* ---- looking up ---- */

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

static int put_record(struct check *c, const struct file_key *key,
		      const struct file_record *r)
{
	uint8_t bytes[FILE_RECORD_BYTES];
	uint8_t k[FILE_KEY_BYTES];

	file_key_store(key, k);
	file_record_store(r, bytes);
	return edits_put(c->edits, DB_FILES, k, sizeof(k), bytes,
			 sizeof(bytes));
}

/* Its digests are lost: it must be hashed again. */
static int wrong_digests(struct check *c, const struct file_key *key,
			 const struct file_record *r, const char *text)
{
	struct file_record pending = { .identity = r->identity,
				       .state = FILE_PENDING };
	int err = note_file(c, key, text);

	return err ? err : put_record(c, key, &pending);
}

static int wrong_kind(struct check *c, const struct file_key *key,
		      const char *text)
{
	struct file_record directory = { .state = FILE_DIRECTORY };
	int err = note_file(c, key, text);

	return err ? err : put_record(c, key, &directory);
}

/* A record of nothing but its key is missing. */
static int missing(struct check *c, const struct file_key *key,
		   enum catalog_db db, const uint8_t *bytes, size_t len,
		   const char *text)
{
	int err = note_file(c, key, text);

	return err ? err : edits_put(c->edits, db, bytes, len, "", 0);
}

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
		err = missing(c, key, DB_COPIES, copy, sizeof(copy),
			      "not among the copies of its content");
	if (err)
		return err;
	found = content_find(c, r->content, &d);
	if (found < 0)
		return found;
	if (!found)
		return wrong_digests(c, key, r, "its content is missing");
	if (d.size != r->identity.size)
		return wrong_digests(c, key, r, "not as long as its content");
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
		err = missing(c, key, DB_PENDING, k, sizeof(k),
			      "not on the pending list");
	return err;
}

/* 1 when the name of a link is that of its file. */
static int link_holds(struct check *c, const MDB_val *link)
{
	struct file_key key, parent, target;
	struct catalog_name name;
	int err;

	if (link_key_decode(link, &key, &parent, &name))
		return 0;
	err = catalog_name_get(c->txn, &parent, name, &target);
	if (err)
		return err == -ENOENT || err == -EUCLEAN ? 0 : err;
	return file_key_equal(&target, &key);
}

/* Of two names that hold one has to go; another is check_link()'s. */
static int two_names(struct check *c, const struct file_key *key,
		     const MDB_val *first, const MDB_val *link)
{
	int err = note_file(c, key, "a directory with two names");
	int holds;

	if (err)
		return err;
	holds = link_holds(c, first);
	if (holds == 1)
		holds = link_holds(c, link);
	if (holds != 1)
		return holds;
	err = drop(c, DB_LINKS, link);
	return err ? err :
		     edits_drop(c->edits, DB_NAMES,
				(const uint8_t *)link->mv_data + FILE_KEY_BYTES,
				link->mv_size - FILE_KEY_BYTES);
}

static int check_directory(struct check *c, const struct file_key *key,
			   const struct file_record *r)
{
	static const struct file_identity none;
	uint8_t prefix[FILE_KEY_BYTES];
	MDB_val first;
	struct scan s;
	int found;
	int err;

	if (!file_identity_equal(&r->identity, &none)) {
		err = wrong_kind(c, key, "a directory with an identity");
		if (err)
			return err;
	}
	file_key_store(key, prefix);
	err = scan_open(c->txn, DB_LINKS, prefix, sizeof(prefix), &s);
	if (err)
		return err;
	found = scan_next(&s);
	first = s.key;
	if (found == 1)
		found = scan_next(&s);
	if (found == 1)
		found = two_names(c, key, &first, &s.key);
	scan_close(&s);
	return found;
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

	if (file_key_decode(key, &k))
		return wrong(c, DB_FILES, key,
			     "a file record with a wrong key");
	if (file_record_decode(value, &r))
		return wrong_file(c, DB_FILES, key, &k, "unreadable record");
	count_file(&c->counts, &r);
	if (c->root && file_key_equal(&k, c->root) && r.state != FILE_DIRECTORY)
		return wrong_kind(c, &k, "the root is no directory");
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
		return wrong(c, DB_PENDING, key, "a malformed pending mark");
	found = file_find(c, &k, &r);
	if (found < 0)
		return found;
	if (!found || r.state != FILE_PENDING)
		return wrong_file(c, DB_PENDING, key, &k,
				  "on the pending list, but not pending");
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
		err = missing(c, key, DB_LINKS, link, len,
			      "a name that it does not know of");
	return err;
}

/* A directory that has entries can be made again. */
static int check_named(struct check *c, const MDB_val *name,
		       const struct file_key *key)
{
	static const char text[] = "has a name and no record";
	uint8_t prefix[FILE_KEY_BYTES];
	struct file_record r;
	MDB_val k, v;
	int found = file_find(c, key, &r);
	int err;

	if (found)
		return found < 0 ? found : 0;
	file_key_store(key, prefix);
	err = txn_first(c->txn, DB_NAMES, prefix, sizeof(prefix), &k, &v);
	if (err == -ENOENT)
		return wrong_file(c, DB_NAMES, name, key, text);
	return err ? err : wrong_kind(c, key, text);
}

static int check_parent(struct check *c, const MDB_val *name,
			const struct file_key *parent)
{
	static const char text[] = "has entries, is no directory";
	struct file_record r;
	int found = file_find(c, parent, &r);

	if (found < 0 || (found && r.state == FILE_DIRECTORY))
		return found < 0 ? found : 0;
	return found ? wrong_file(c, DB_NAMES, name, parent, text) :
		       wrong_kind(c, parent, text);
}

static int check_name(struct check *c, const MDB_val *key, const MDB_val *value)
{
	struct file_key parent, k;
	struct catalog_name name;
	int err;

	if (name_key_decode(key, &parent, &name) || file_key_decode(value, &k))
		return wrong(c, DB_NAMES, key, "a malformed name");
	err = check_link_of_name(c, &parent, name, &k);
	if (!err)
		err = check_named(c, key, &k);
	return err ? err : check_parent(c, key, &parent);
}

static int check_link(struct check *c, const MDB_val *key, const MDB_val *value)
{
	struct file_key k, parent;
	struct catalog_name name;
	int holds;

	if (link_key_decode(key, &k, &parent, &name) || value->mv_size != 0)
		return wrong(c, DB_LINKS, key, "a malformed link");
	holds = link_holds(c, key);
	if (holds)
		return holds < 0 ? holds : 0;
	return wrong_file(c, DB_LINKS, key, &k,
			  "claims a name that is not its own");
}

/* ---- contents ---- */

static int check_texts_of(struct check *c, const MDB_val *key, uint32_t content,
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
		err = wrong_content(c, DB_CONTENTS, key, content,
				    "texts and digest set disagree");
	if (!err && sketch)
		err = wrong_content(c, DB_CONTENTS, key, content,
				    "sketch and digest set disagree");
	return err;
}

/* Of two contents that are the same one has to go. */
static int lost_identity(struct check *c, const MDB_val *key, uint32_t content,
			 const uint8_t *identity, bool taken)
{
	static const char text[] = "not found by its identity";
	int err;

	if (taken)
		return wrong_content(c, DB_CONTENTS, key, content, text);
	err = note_content(c, content, text);
	return err ? err :
		     edits_put(c->edits, DB_IDENTITIES, identity,
			       IDENTITY_KEY_BYTES, key->mv_data, key->mv_size);
}

static int check_identity_of(struct check *c, const MDB_val *key,
			     uint32_t content, const struct digests *d)
{
	uint8_t identity[IDENTITY_KEY_BYTES];
	uint8_t others[IDENTITY_KEY_BYTES];
	struct digests other = { 0 };
	MDB_val value;
	uint32_t id = 0;
	int found = 0;
	int err;

	identity_key_store(d, identity);
	err = txn_get(c->txn, DB_IDENTITIES, identity, sizeof(identity),
		      &value);
	if (err && err != -ENOENT)
		return err;
	if (!err)
		err = content_id_decode(&value, &id);
	if (!err && id == content)
		return 0;
	if (!err)
		found = content_find(c, id, &other);
	if (found < 0)
		return found;
	identity_key_store(&other, others);
	return lost_identity(
		c, key, content, identity,
		found && memcmp(identity, others, sizeof(others)) == 0);
}

static int check_content(struct check *c, const MDB_val *key,
			 const MDB_val *value)
{
	uint32_t content;
	struct digests d;
	MDB_val k, v;
	int err;

	if (content_id_decode(key, &content))
		return wrong(c, DB_CONTENTS, key, "a content with a wrong key");
	if (content_decode(value, &d))
		return wrong_content(c, DB_CONTENTS, key, content,
				     "unreadable record");
	c->counts.contents++;
	c->counts.content_bytes += d.size;
	if (content >= c->txn->meta.next_content) {
		err = wrong_content(c, DB_CONTENTS, key, content,
				    "its id was not given out yet");
		if (err)
			return err;
	}
	err = check_texts_of(c, key, content, &d);
	if (!err)
		err = check_identity_of(c, key, content, &d);
	if (err)
		return err;
	err = txn_first(c->txn, DB_COPIES, key->mv_data, key->mv_size, &k, &v);
	return err == -ENOENT ? wrong_content(c, DB_CONTENTS, key, content,
					      "no file has it") :
				err;
}

static int check_texts(struct check *c, const MDB_val *key,
		       const MDB_val *value)
{
	uint32_t content;
	struct digests d;
	int found, err;

	if (content_id_decode(key, &content))
		return wrong(c, DB_TEXTS, key, "texts with a wrong key");
	found = content_find(c, content, &d);
	if (found < 0)
		return found;
	if (!found)
		return wrong_content(c, DB_TEXTS, key, content,
				     "texts and no record");
	err = texts_decode(value, &d);
	digests_release(&d);
	return err == -EUCLEAN ? wrong_content(c, DB_CONTENTS, key, content,
					       "unreadable texts") :
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
		return wrong(c, DB_SKETCHES, key, "a sketch with a wrong key");
	found = content_find(c, content, &d);
	if (found < 0)
		return found;
	if (!found)
		return wrong_content(c, DB_SKETCHES, key, content,
				     "a sketch and no record");
	if (sketch_decode(value, &sketch))
		return wrong_content(c, DB_CONTENTS, key, content,
				     "an unreadable sketch");
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
		return wrong(c, DB_IDENTITIES, key, "a malformed identity");
	found = content_find(c, content, &d);
	if (found < 0)
		return found;
	if (found)
		identity_key_store(&d, identity);
	if (!found || memcmp(identity, key->mv_data, sizeof(identity)) != 0)
		return wrong_content(c, DB_IDENTITIES, key, content,
				     "found by a wrong identity");
	return 0;
}

static int check_copy(struct check *c, const MDB_val *key, const MDB_val *value)
{
	uint32_t content;
	struct file_record r;
	struct file_key k;
	int found;

	if (copy_key_decode(key, &content, &k) || value->mv_size != 0)
		return wrong(c, DB_COPIES, key, "a malformed copy");
	found = file_find(c, &k, &r);
	if (found < 0)
		return found;
	if (!found || r.state != FILE_FRESH || r.content != content)
		return wrong_file(c, DB_COPIES, key, &k,
				  "listed as a copy of a wrong content");
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
	return result || !c->edits ? result : edits_apply(c->edits, c->txn);
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
	if (c->edits) {
		c->txn->meta.counts = *now;
		c->txn->meta_changed = true;
	}
	return note(c, "the counts are wrong");
}

int check_all(struct check *c)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
		err = check_table(c, &tables[i]);
	if (!err)
		err = check_counts(c);
	if (!err && c->findings > FINDINGS_MAX)
		err = buf_append_format(c->report, "and %u more\n",
					c->findings - FINDINGS_MAX);
	return err;
}

int catalog_check(struct catalog_txn *txn, const struct file_key *root,
		  struct buf *report)
{
	struct check c = { .txn = txn, .root = root, .report = report };
	int err = check_all(&c);

	if (err)
		return err;
	return c.findings ? -EUCLEAN : 0;
}
