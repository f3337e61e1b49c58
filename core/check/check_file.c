/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/hole.h"
#include "core/check/check_impl.h"
#include "core/source/file.h"
#include "core/source/source.h"

#define CHUNK ((size_t)1 << 20)
#define HOLE_PART ((uint64_t)256 << 20)

/* ---- reading ---- */

static int read_part(struct check *a, int fd, uint64_t at, uint64_t end)
{
	size_t len;
	ssize_t n;
	int err = 0;

	for (; !err && at < end; at += (uint64_t)n) {
		len = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
		n = file_read_uncached(fd, a->chunk, len, at);
		if (n <= 0)
			return n ? (int)n : -ESTALE; /* it was cut short */
		if (check_is_stopping(a))
			return -ECANCELED;
		err = fingerprint_update(a->fp, a->chunk, (size_t)n);
	}
	return err;
}

static int pass_hole(struct check *a, uint64_t len)
{
	uint64_t part;
	int err = 0;

	for (; !err && len > 0; len -= part) {
		part = len < HOLE_PART ? len : HOLE_PART;
		if (check_is_stopping(a))
			return -ECANCELED;
		err = fingerprint_update_zeros(a->fp, part);
	}
	return err;
}

static int read_all(struct check *a, int fd, uint64_t size)
{
	struct hole_part part = { .end = 0 };
	uint64_t at;
	int err = 0;

	while (!err && part.end < size) {
		at = part.end;
		hole_find(fd, at, size, &part);
		err = part.hole ? pass_hole(a, part.end - at) :
				  read_part(a, fd, at, part.end);
	}
	return err;
}

static bool is_unchanged(int fd, const struct file_identity *identity)
{
	struct file_identity now;
	struct stat st;

	if (fstat(fd, &st))
		return false;
	source_get_identity(&st, &now);
	return file_identity_equal(&now, identity);
}

static int digest(struct check *a, int fd, const struct check_subject *s,
		  struct digests *out)
{
	uint64_t size = s->record.identity.size;
	int err = 0;

	if (!a->chunk)
		a->chunk = malloc(CHUNK);
	if (!a->chunk)
		return -ENOMEM;
	if (!is_unchanged(fd, &s->record.identity))
		return -ESTALE;
	err = fingerprint_begin_file(a->fp, "", size, 0);
	if (!err)
		err = read_all(a, fd, size);
	if (!err && !is_unchanged(fd, &s->record.identity))
		err = -ESTALE;
	if (err)
		return err;
	a->counts->read++;
	a->counts->read_bytes += size;
	return fingerprint_final(a->fp, out);
}

/* ---- comparing ---- */

/* Appends the names of the digests that differ. */
static int append_differing(const struct digests *kept,
			    const struct digests *made, struct buf *out)
{
	struct buf a = { 0 }, b = { 0 };
	int id, err = 0;

	for (id = 0; !err && id < DIGEST_COUNT; id++) {
		if (!(kept->set & made->set & DIGEST_BIT(id)))
			continue;
		buf_clear(&a);
		buf_clear(&b);
		err = digest_format(kept, (enum digest_id)id, &a);
		if (!err)
			err = digest_format(made, (enum digest_id)id, &b);
		if (!err && strcmp(a.data, b.data) != 0)
			err = buf_append_format(out, " %s",
						digest_table[id]->name);
	}
	buf_release(&a);
	buf_release(&b);
	return err;
}

/* The digests that the catalog has of the file now.  -ESTALE when its record
 * is no longer that of s. */
static int kept_digests(struct check *a, const struct check_subject *s,
			struct digests *out)
{
	struct catalog_txn *txn;
	struct file_record now;
	int err = catalog_read(a->options->catalog, &txn);

	if (err)
		return err;
	err = catalog_file_get(txn, &s->key, &now);
	if (!err &&
	    (now.state != FILE_FRESH || now.content != s->record.content ||
	     !file_identity_equal(&now.identity, &s->record.identity)))
		err = -ESTALE;
	if (!err)
		err = catalog_content_get(txn, now.content, out);
	catalog_abort(txn);
	/* Records that cannot be read were reported already. */
	return err == -ENOENT || err == -EUCLEAN ? -ESTALE : err;
}

/* ---- one file ---- */

static bool is_same_content(const struct digests *a, const struct digests *b)
{
	return a->size == b->size &&
	       memcmp(a->xxh128, b->xxh128, sizeof(a->xxh128)) == 0;
}

static int compare(struct check *a, const struct check_subject *s,
		   const struct digests *kept, const struct digests *made)
{
	bool same = is_same_content(kept, made);
	struct buf text = { 0 }, names = { 0 };
	int err = append_differing(kept, made, &names);

	if (!err && !names.len)
		return 0;
	if (!err)
		err = buf_append_format(
			&text, "%s; differing:%s",
			same ? "digests are not those of its content" :
			       "not the content that was hashed, at the same "
			       "size and times",
			names.data);
	if (!err)
		check_report_finding(a, CHECK_DIGEST, s->path, text.data);
	buf_release(&text);
	buf_release(&names);
	return err;
}

static int check_open_file(struct check *a, int fd,
			   const struct check_subject *s)
{
	struct digests kept, made;
	int err = digest(a, fd, s, &made);

	if (err)
		return err;
	err = kept_digests(a, s, &kept);
	if (!err) {
		err = compare(a, s, &kept, &made);
		digests_release(&kept);
	}
	digests_release(&made);
	return err;
}

/* That a file cannot be read, or changes meanwhile, is no finding. */
int check_file(struct check *a, int path_fd, const struct check_subject *s)
{
	struct file_key key;
	struct stat st;
	int fd, err;

	if (fstat(path_fd, &st) || !S_ISREG(st.st_mode))
		return 0;
	source_make_key(a->source_dev, path_fd, "", &st, &key);
	if (!file_key_equal(&key, &s->key))
		return 0;
	fd = file_reopen(path_fd);
	if (fd < 0) {
		a->counts->unread++;
		return 0;
	}
	err = check_open_file(a, fd, s);
	close(fd);
	if (err == -EIO || err == -EACCES)
		a->counts->unread++;
	return err == -ESTALE || err == -EIO || err == -EACCES ? 0 : err;
}
