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

bool check_is_stopping(const struct check *a)
{
	const atomic_bool *stopping = a->options->stopping;

	return stopping && atomic_load(stopping);
}

void check_report_finding(struct check *a, enum check_kind kind,
			  const char *path, const char *text)
{
	struct check_finding f = { .kind = kind, .path = path, .text = text };

	a->counts->found[kind]++;
	if (a->options->found && a->counts->found[kind] <= CHECK_TOLD)
		a->options->found(a->options->arg, &f);
}

uint64_t check_count_findings(const struct check_counts *counts)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < CHECK_KINDS; i++)
		sum += counts->found[i];
	return sum;
}

static int begin(struct check *a, struct catalog_txn **out)
{
	int err = catalog_read(a->options->catalog, out);

	if (!err && a->options->stopping)
		catalog_stop_when(*out, a->options->stopping);
	return err;
}

static int settle(struct check *a)
{
	const struct check_options *o = a->options;

	return o->settle ? o->settle(o->arg) : 0;
}

/* ---- records against records ---- */

static void report_lines(struct check *a, char *report)
{
	char *line, *rest = NULL;

	for (line = strtok_r(report, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		check_report_finding(a, CHECK_RECORD, NULL, line);
}

static int check_records(struct check *a)
{
	struct catalog_txn *txn;
	struct buf report = { 0 };
	int err = begin(a, &txn);

	if (err)
		return err;
	err = catalog_check(txn, &a->root, &report);
	catalog_abort(txn);
	/* With a report it is contradictions, without one damage. */
	if (err == -EUCLEAN && report.len) {
		report_lines(a, report.data);
		err = 0;
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

static int append_orphan(void *arg, const struct file_key *key,
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

static int collect_orphans(struct check *a, struct orphans *out)
{
	struct catalog_txn *txn;
	int err = begin(a, &txn);

	if (err)
		return err;
	err = catalog_orphans_each(txn, &a->root, append_orphan, out);
	catalog_abort(txn);
	return err;
}

/* 1 when it still is one, and then its record. */
static int is_orphan(struct check *a, const struct file_key *key,
		     struct file_record *out)
{
	struct catalog_txn *txn;
	int result = begin(a, &txn);

	if (result)
		return result;
	result = catalog_file_get(txn, key, out);
	if (!result) {
		result = catalog_has_path(txn, &a->root, key);
		if (result >= 0)
			result = !result;
	}
	catalog_abort(txn);
	return result == -ENOENT || result == -EUCLEAN ? 0 : result;
}

static int report_orphan(struct check *a, const struct file_key *key,
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
		check_report_finding(a, CHECK_ORPHAN, NULL, text.data);
	buf_release(&text);
	return err;
}

/* Reports those that are orphans still. */
static int confirm_orphans(struct check *a, struct orphans *o)
{
	struct file_record r = { 0 };
	size_t i;
	int result = 0;

	for (i = 0; i < o->count && result >= 0; i++) {
		result = check_is_stopping(a) ? -ECANCELED :
						is_orphan(a, &o->keys[i], &r);
		if (result == 1)
			result = report_orphan(a, &o->keys[i], &r);
	}
	a->counts->found[CHECK_ORPHAN] += o->more;
	return result < 0 ? result : 0;
}

/* Orphans are looked for twice, because the committer may write the record of
 * a file before its name. */
static int check_orphans(struct check *a)
{
	struct orphans o = { 0 };
	int err = collect_orphans(a, &o);

	if (!err && o.count)
		err = settle(a);
	if (!err)
		err = confirm_orphans(a, &o);
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

static int count_contents(struct check *a, uint64_t *out)
{
	struct catalog_txn *txn;
	int err = begin(a, &txn);

	if (err)
		return err;
	*out = 0;
	err = catalog_content_each(txn, count_content, out);
	catalog_abort(txn);
	return err == -EUCLEAN ? 0 : err; /* reported already */
}

/* The committer tells the index of a content after it was written.  So the
 * numbers are compared when the catalog had the same one before and after. */
static int check_index(struct check *a)
{
	const struct check_options *o = a->options;
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
		check_report_finding(a, CHECK_INDEX, NULL, text.data);
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

/* -EXDEV when the directory is not the one that the catalog describes, as when
 * the disk of the tree is not mounted.  The record of the root alone may be
 * lost: a catalog with names in the root is of this tree. */
static int check_root(struct check *a, struct catalog_txn *txn)
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

static int check_begin(struct check *a)
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
	err = check_root(a, txn);
	set = catalog_digest_set(txn) & DIGEST_KEPT;
	catalog_abort(txn);
	return err || !a->options->read ? err : fingerprint_new(set, &a->fp);
}

int check_run(const struct check_options *options, struct check_counts *out)
{
	struct check a = { .options = options, .counts = out };
	int err;

	*out = (struct check_counts){ 0 };
	err = check_begin(&a);
	if (!err)
		err = check_records(&a);
	if (!err)
		err = check_orphans(&a);
	if (!err)
		err = check_index(&a);
	if (!err)
		err = check_tree(&a);
	fingerprint_free(a.fp);
	free(a.chunk);
	return err;
}
