/* SPDX-License-Identifier: Apache-2.0 */
#include "core/check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/check/check_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

/* Orphans that are held in memory; more are counted. */
#define ORPHANS_MAX 1000000

bool audit_is_stopping(const struct audit *a)
{
	const atomic_bool *stopping = a->options->stopping;

	return stopping && atomic_load(stopping);
}

void audit_tell(struct audit *a, enum audit_kind kind, const char *path,
		const char *text)
{
	struct audit_finding f = { .kind = kind, .path = path, .text = text };

	a->counts->found[kind]++;
	if (a->options->found && a->counts->found[kind] <= AUDIT_TOLD)
		a->options->found(a->options->arg, &f);
}

uint64_t audit_findings(const struct audit_counts *counts)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < AUDIT_KINDS; i++)
		sum += counts->found[i];
	return sum;
}

static int begin(struct audit *a, struct catalog_txn **out)
{
	int err = catalog_read(a->options->catalog, out);

	if (!err && a->options->stopping)
		catalog_stop_when(*out, a->options->stopping);
	return err;
}

static int settle(struct audit *a)
{
	const struct audit_options *o = a->options;

	return o->settle ? o->settle(o->arg) : 0;
}

/* ---- records against records ---- */

static void tell_lines(struct audit *a, char *report)
{
	char *line, *rest = NULL;

	for (line = strtok_r(report, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		audit_tell(a, AUDIT_RECORD, NULL, line);
}

static int mend_records(struct audit *a)
{
	const struct audit_mender *m = a->options->mender;
	int err;

	if (!m || !m->records || !a->counts->found[AUDIT_RECORD])
		return 0;
	err = m->records(m->ctx, &a->root);
	if (!err)
		a->counts->mended += a->counts->found[AUDIT_RECORD];
	return err;
}

static int audit_records(struct audit *a)
{
	struct catalog_txn *txn;
	struct buf report = { 0 };
	int err = begin(a, &txn);

	if (err)
		return err;
	err = catalog_check(txn, &a->root, &report);
	catalog_abort(txn);
	/* Either something is damaged, or there is a report that says so. */
	if (err == -EUCLEAN && report.len) {
		tell_lines(a, report.data);
		err = mend_records(a);
	}
	buf_release(&report);
	return err;
}

/* ---- records that no name leads to ---- */

struct orphans {
	struct file_key *keys;
	size_t count;
	uint64_t more;
};

static int note_orphan(void *arg, const struct file_key *key,
		       const struct file_record *record)
{
	struct orphans *o = arg;
	struct file_key *keys;

	(void)record;
	if (o->count == ORPHANS_MAX) {
		o->more++;
		return 0;
	}
	keys = array_with_room(o->keys, o->count, sizeof(*keys));
	if (!keys)
		return -ENOMEM;
	o->keys = keys;
	keys[o->count++] = *key;
	return 0;
}

static int collect_orphans(struct audit *a, struct orphans *out)
{
	struct catalog_txn *txn;
	int err = begin(a, &txn);

	if (err)
		return err;
	err = catalog_orphans_each(txn, &a->root, note_orphan, out);
	catalog_abort(txn);
	return err;
}

static int stop_at_first(void *arg, const char *path)
{
	(void)arg;
	(void)path;
	return 1;
}

/* 1 when it still is one, and then its record. */
static int is_orphan(struct audit *a, const struct file_key *key,
		     struct file_record *out)
{
	struct catalog_txn *txn;
	int result = begin(a, &txn);

	if (result)
		return result;
	result = catalog_file_get(txn, key, out);
	if (!result) {
		result = catalog_path_each(txn, &a->root, key, stop_at_first,
					   NULL);
		if (result >= 0)
			result = !result;
	}
	catalog_abort(txn);
	return result == -ENOENT || result == -EUCLEAN ? 0 : result;
}

static int tell_orphan(struct audit *a, const struct file_key *key,
		       const struct file_record *r)
{
	bool directory = r->state == FILE_DIRECTORY;
	struct buf text = { 0 };
	int err;

	err = buf_append_format(&text,
				"%s %" PRIu32 ":%" PRIu64 ":%" PRIu32
				": no name leads to it",
				directory ? "directory" : "file", key->device,
				key->inode, key->generation);
	if (!err)
		audit_tell(a, AUDIT_ORPHAN, NULL, text.data);
	buf_release(&text);
	return err;
}

/* Tells of those that still are; they are moved to the front. */
static int confirm_orphans(struct audit *a, struct orphans *o)
{
	struct file_record r = { 0 };
	size_t i, kept = 0;
	int result = 0;

	for (i = 0; i < o->count && result >= 0; i++) {
		result = audit_is_stopping(a) ? -ECANCELED :
						is_orphan(a, &o->keys[i], &r);
		if (result == 1) {
			result = tell_orphan(a, &o->keys[i], &r);
			o->keys[kept++] = o->keys[i];
		}
	}
	o->count = kept;
	a->counts->found[AUDIT_ORPHAN] += o->more;
	return result < 0 ? result : 0;
}

/* Two looks, because a record may come before its name. */
static int audit_orphans(struct audit *a)
{
	const struct audit_mender *m = a->options->mender;
	struct orphans o = { 0 };
	int err = collect_orphans(a, &o);

	if (!err && o.count)
		err = settle(a);
	if (!err)
		err = confirm_orphans(a, &o);
	if (!err && m && o.count) {
		err = m->forget(m->ctx, o.keys, o.count);
		if (!err)
			a->counts->mended += o.count;
	}
	free(o.keys);
	return err;
}

/* ---- the index ---- */

/* An empty content is not in it. */
static int count_content(void *arg, uint32_t content, const struct digests *d)
{
	(void)content;
	*(uint64_t *)arg += d->size > 0;
	return 0;
}

static int count_contents(struct audit *a, uint64_t *out)
{
	struct catalog_txn *txn;
	int err = begin(a, &txn);

	if (err)
		return err;
	*out = 0;
	err = catalog_content_each(txn, count_content, out);
	catalog_abort(txn);
	return err == -EUCLEAN ? 0 : err; /* told already */
}

/* The index follows the catalog at a small distance: what is the same before
 * and after is not on its way. */
static int audit_index(struct audit *a)
{
	const struct audit_options *o = a->options;
	uint64_t before, after, indexed;
	struct buf text = { 0 };
	int err = o->indexed ? settle(a) : 0;

	if (err || !o->indexed)
		return err;
	do {
		err = count_contents(a, &before);
		if (!err)
			err = settle(a);
		if (err)
			return err;
		indexed = o->indexed(o->arg);
		err = count_contents(a, &after);
	} while (!err && indexed != before && before != after);
	if (err || indexed == before)
		return err;
	err = buf_append_format(&text,
				"%" PRIu64 " contents, the catalog has %" PRIu64
				"; the next mount builds it anew",
				indexed, before);
	if (!err)
		audit_tell(a, AUDIT_INDEX, NULL, text.data);
	buf_release(&text);
	return err;
}

/* ---- all of it ---- */

static int stop_at_entry(void *arg, struct catalog_name name,
			 const struct file_key *key)
{
	(void)arg;
	(void)name;
	(void)key;
	return 1;
}

/* That a directory is at the path of the tree does not make it the tree: its
 * disk may not be there today.  But its record may be lost. */
static int audit_root(struct audit *a, struct catalog_txn *txn)
{
	struct catalog_counts n;
	struct file_record r;
	int err = catalog_file_get(txn, &a->root, &r);

	if (err != -ENOENT)
		return err == -EUCLEAN ? 0 : err;
	err = catalog_directory_each(txn, &a->root, stop_at_entry, NULL);
	if (err)
		return err < 0 && err != -EUCLEAN ? err : 0;
	err = catalog_counts(txn, &n);
	return !err && n.files + n.directories ? -EXDEV : err;
}

static int audit_begin(struct audit *a)
{
	struct catalog_txn *txn;
	struct stat st;
	uint32_t set;
	int err;

	if (fstat(a->options->source_fd, &st))
		return -errno;
	a->source_dev = st.st_dev;
	source_make_key(st.st_dev, a->options->source_fd, "", &st, &a->root);
	err = begin(a, &txn);
	if (err)
		return err;
	err = audit_root(a, txn);
	set = catalog_digest_set(txn) & DIGEST_DEFAULT;
	catalog_abort(txn);
	return err || !a->options->read ? err : fingerprint_new(set, &a->fp);
}

int audit_run(const struct audit_options *options, struct audit_counts *out)
{
	struct audit a = { .options = options, .counts = out };
	int err;

	*out = (struct audit_counts){ 0 };
	err = audit_begin(&a);
	if (!err)
		err = audit_records(&a);
	if (!err)
		err = audit_orphans(&a);
	if (!err)
		err = audit_index(&a);
	if (!err)
		err = audit_tree(&a);
	fingerprint_free(a.fp);
	free(a.chunk);
	return err;
}
