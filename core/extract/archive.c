/* SPDX-License-Identifier: Apache-2.0 */
#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/extract/parsers.h"

enum {
	BLOCK = 65536,
	/* A member that is no document is kept up to here, to see whether it is
	 * text in another encoding. */
	KEPT_MAX = 16 << 20,
	/* The parts of a document together. */
	PACKAGE_MAX = 128 << 20,
};

/* ---- libarchive over an input ---- */

struct archive_input {
	const struct extract_input *in;
	uint64_t at;
	struct archive *archive;
	uint8_t block[BLOCK];
};

static la_ssize_t read_block(struct archive *a, void *arg, const void **out)
{
	struct archive_input *i = arg;
	size_t len = input_read(i->in, i->at, i->block, sizeof(i->block));

	(void)a;
	*out = i->block;
	i->at += len;
	return (la_ssize_t)len;
}

static la_int64_t skip_bytes(struct archive *a, void *arg, la_int64_t count)
{
	struct archive_input *i = arg;
	uint64_t left = i->in->size - i->at;

	(void)a;
	if (count < 0)
		return 0;
	count = (uint64_t)count < left ? count : (la_int64_t)left;
	i->at += (uint64_t)count;
	return count;
}

static la_int64_t seek_to(struct archive *a, void *arg, la_int64_t offset,
			  int whence)
{
	struct archive_input *i = arg;
	uint64_t base = whence == SEEK_SET ? 0 :
			whence == SEEK_CUR ? i->at :
					     i->in->size;
	uint64_t at = base + (uint64_t)offset;

	(void)a;
	if (at > i->in->size)
		return ARCHIVE_FATAL;
	i->at = at;
	return (la_int64_t)at;
}

/* The formats of the issue alone: libarchive has more, less well kept ones. */
static int open_kind(struct archive *a, enum extract_kind kind)
{
	switch (kind) {
	case EXTRACT_ZIP:
		return archive_read_support_format_zip(a);
	case EXTRACT_7Z:
		return archive_read_support_format_7zip(a);
	case EXTRACT_TAR:
		return archive_read_support_format_tar(a);
	default:
		archive_read_support_filter_gzip(a);
		archive_read_support_filter_xz(a);
		archive_read_support_filter_zstd(a);
		archive_read_support_filter_bzip2(a);
		archive_read_support_format_tar(a);
		archive_read_support_format_empty(a);
		return archive_read_support_format_raw(a);
	}
}

static struct archive_input *open_archive(const struct extract_input *in,
					  enum extract_kind kind)
{
	struct archive_input *i = calloc(1, sizeof(*i));

	if (!i)
		return NULL;
	i->in = in;
	i->archive = archive_read_new();
	if (i->archive && open_kind(i->archive, kind) == ARCHIVE_OK) {
		archive_read_set_read_callback(i->archive, read_block);
		archive_read_set_skip_callback(i->archive, skip_bytes);
		archive_read_set_seek_callback(i->archive, seek_to);
		archive_read_set_callback_data(i->archive, i);
		if (archive_read_open1(i->archive) == ARCHIVE_OK)
			return i;
	}
	archive_read_free(i->archive);
	free(i);
	return NULL;
}

static void close_archive(struct archive_input *i)
{
	archive_read_free(i->archive);
	free(i);
}

/* EXTRACT_OK: there is an entry; EXTRACT_NO_TEXT: there are no more. */
static enum extract_status next_entry(struct archive_input *i,
				      struct archive_entry **out)
{
	int result = archive_read_next_header(i->archive, out);

	if (result == ARCHIVE_EOF)
		return EXTRACT_NO_TEXT;
	if (result >= ARCHIVE_WARN)
		return EXTRACT_OK;
	return archive_read_has_encrypted_entries(i->archive) > 0 ?
		       EXTRACT_ENCRYPTED :
		       EXTRACT_DAMAGED;
}

/* ---- members ---- */

/* Reads on until there are that many bytes, or no more. */
static enum extract_status fill(struct document *d, struct archive_input *i,
				struct buf *b, size_t most, bool *is_over_out)
{
	la_ssize_t n = 1;

	while (b->len < most) {
		if (buf_reserve(b, BLOCK))
			return EXTRACT_LIMIT;
		n = archive_read_data(i->archive, b->data + b->len, BLOCK);
		if (n <= 0)
			break;
		if (!output_may_inflate(d->out, (uint64_t)n))
			return EXTRACT_LIMIT;
		b->len += (size_t)n;
	}
	*is_over_out = n <= 0;
	return n < 0 ? EXTRACT_DAMAGED : EXTRACT_OK;
}

/* A member that is too long to be kept goes through. */
static enum extract_status pass_on(struct document *d, struct archive_input *i,
				   const char *name, struct buf *b)
{
	enum extract_status status;
	bool is_over = false;
	struct document m;

	status = member_begin(d, name, &m);
	if (status)
		return status;
	do {
		output_data(d->out, EXTRACT_FRAME_BYTES, b->data, b->len);
		m.result.size += b->len;
		buf_clear(b);
		if (is_over)
			break;
		status = fill(&m, i, b, BLOCK, &is_over);
	} while (!status);
	m.result.status = status;
	return member_end(d, &m);
}

static enum extract_status give_status(struct document *d, const char *name,
				       enum extract_status status)
{
	struct document m;
	enum extract_status other = member_begin(d, name, &m);

	if (other)
		return other;
	m.result.status = status;
	return member_end(d, &m);
}

static enum extract_status read_entry(struct document *d,
				      struct archive_input *i,
				      struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);
	enum extract_status status;
	struct buf b = { 0 };
	bool is_over;

	if (archive_entry_is_data_encrypted(entry))
		return give_status(d, name, EXTRACT_ENCRYPTED);
	status = fill(d, i, &b, KEPT_MAX, &is_over);
	if (!status && !is_over &&
	    member_is_document(d, sniff_kind((uint8_t *)b.data, b.len)))
		status = fill(d, i, &b, (size_t)d->out->limits.input, &is_over);
	if (status)
		status = give_status(d, name, status);
	else if (is_over)
		status = member_read(d, name, (uint8_t *)b.data, b.len);
	else
		status = pass_on(d, i, name, &b);
	buf_release(&b);
	return status;
}

/* What an archive is whose members are over. */
static enum extract_status conclude(const struct document *d,
				    enum extract_status status, bool encrypted)
{
	if (status != EXTRACT_NO_TEXT)
		return status;
	if (d->is_visible)
		return EXTRACT_OK;
	return encrypted ? EXTRACT_ENCRYPTED : EXTRACT_NO_TEXT;
}

enum extract_status archive_read_members(struct document *d,
					 const struct extract_input *in)
{
	struct archive_input *i = open_archive(in, d->result.kind);
	struct archive_entry *entry;
	enum extract_status status;
	bool encrypted = false;

	if (!i)
		return EXTRACT_DAMAGED;
	do {
		status = next_entry(i, &entry);
		/* A compressed file has no type. */
		if (status || (archive_entry_filetype(entry) &&
			       archive_entry_filetype(entry) != AE_IFREG))
			continue;
		/* A hard link in a tar has no content of its own. */
		if (archive_entry_hardlink(entry))
			continue;
		encrypted |= archive_entry_is_data_encrypted(entry) != 0;
		status = read_entry(d, i, entry);
	} while (!status);
	close_archive(i);
	return conclude(d, status, encrypted);
}

/* ---- documents in zips ---- */

/* Some programs write the separators of Windows. */
static char *part_name(const char *name)
{
	char *copy = strdup(name), *at;

	for (at = copy; at && (at = strchr(at, '\\'));)
		*at = '/';
	return copy;
}

enum extract_status package_open(const struct extract_input *in,
				 struct package *out)
{
	struct archive_input *i = open_archive(in, EXTRACT_ZIP);
	struct archive_entry *entry;
	enum extract_status status;
	struct package_part *parts;
	const char *name;
	size_t most = extract_limits_default.members;

	if (!i)
		return EXTRACT_DAMAGED;
	out->parts = parts = calloc(most, sizeof(*parts));
	status = parts ? EXTRACT_OK : EXTRACT_LIMIT;
	while (!status && out->count < most) {
		status = next_entry(i, &entry);
		if (status)
			break;
		name = archive_entry_pathname(entry);
		parts[out->count].name = part_name(name ? name : "");
		parts[out->count].size = (uint64_t)archive_entry_size(entry);
		if (!parts[out->count++].name)
			status = EXTRACT_LIMIT;
	}
	close_archive(i);
	return status == EXTRACT_NO_TEXT ? EXTRACT_OK : status;
}

/* Entries come in the same order each time. */
enum extract_status package_load(struct document *d,
				 const struct extract_input *in,
				 struct package *p)
{
	struct archive_input *i = open_archive(in, EXTRACT_ZIP);
	struct archive_entry *entry;
	enum extract_status status = i ? EXTRACT_OK : EXTRACT_DAMAGED;
	size_t at, left = PACKAGE_MAX;
	struct package_part *part;
	bool is_over;

	for (at = 0; at < p->count && !status; at++) {
		part = &p->parts[at];
		status = next_entry(i, &entry);
		if (!status && part->is_wanted && !part->content.data) {
			if (archive_entry_is_data_encrypted(entry))
				status = EXTRACT_ENCRYPTED;
			else
				status = fill(d, i, &part->content, left,
					      &is_over);
			if (!status && part->content.len >= left)
				status = EXTRACT_LIMIT;
		}
		left -= part->content.len;
	}
	if (i)
		close_archive(i);
	return status;
}

void package_release(struct package *p)
{
	size_t i;

	for (i = 0; i < p->count; i++) {
		free(p->parts[i].name);
		buf_release(&p->parts[i].content);
	}
	free(p->parts);
}

/* A zip of one stored entry "a" with the content "a": loads what libarchive
 * loads with the first one. */
int archive_warm_up(void)
{
	static const uint8_t zip[] =
		"PK\3\4\x0a\0\0\0\0\0\0\0\x21\0\x43\xbe\xb7\xe8\1\0\0\0\1\0\0\0"
		"\1\0\0\0"
		"aa"
		"PK\1\2\x14\3\x0a\0\0\0\0\0\0\0\x21\0\x43\xbe\xb7\xe8\1\0\0\0"
		"\1\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
		"a"
		"PK\5\6\0\0\0\0\1\0\1\0\x2f\0\0\0\x20\0\0\0\0";
	const struct extract_input in = { .fd = -1,
					  .data = zip,
					  .size = sizeof(zip) };
	static struct extract_output out = { .fd = -1 };
	struct document d = document_new(&out, 0);
	enum extract_status status;

	out.limits = extract_limits_default;
	d.result.kind = EXTRACT_ZIP;
	status = archive_read_members(&d, &in);
	document_release(&d);
	return status;
}
