/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"

static const uint8_t meta_magic[8] = "kinfscat";

/* Device first: a device's files are pending in the order of its inodes. */
void file_number_store(uint32_t device, uint64_t inode, uint8_t *bytes)
{
	store_be32(bytes, device);
	store_be64(bytes + 4, inode);
}

void file_key_store(const struct file_key *key, uint8_t *bytes)
{
	file_number_store(key->device, key->inode, bytes);
	store_be32(bytes + FILE_NUMBER_BYTES, key->generation);
}

void file_key_load(const uint8_t *bytes, struct file_key *out)
{
	out->device = load_be32(bytes);
	out->inode = load_be64(bytes + 4);
	out->generation = load_be32(bytes + 12);
}

int file_key_decode(const MDB_val *bytes, struct file_key *out)
{
	if (bytes->mv_size != FILE_KEY_BYTES)
		return -EUCLEAN;
	file_key_load(bytes->mv_data, out);
	return 0;
}

void file_record_store(const struct file_record *r, uint8_t *bytes)
{
	uint32_t detail = 0;

	if (r->state == FILE_FRESH)
		detail = r->content;
	else if (r->state == FILE_FAILED)
		detail = (uint32_t)r->error;
	store_le32(bytes, (uint32_t)r->state);
	store_le32(bytes + 4, detail);
	store_le64(bytes + 8, r->identity.size);
	store_le64(bytes + 16, (uint64_t)r->identity.mtime_ns);
	store_le64(bytes + 24, (uint64_t)r->identity.ctime_ns);
}

static bool detail_is_valid(uint32_t state, uint32_t detail)
{
	switch (state) {
	case FILE_FRESH:
		return detail != 0;
	case FILE_FAILED:
		return detail > 0 && detail < 4096;
	case FILE_PENDING:
	case FILE_DIRECTORY:
		return detail == 0;
	default:
		return false;
	}
}

int file_record_decode(const MDB_val *bytes, struct file_record *out)
{
	const uint8_t *p = bytes->mv_data;
	struct file_record r = { 0 };
	uint32_t detail;

	if (bytes->mv_size != FILE_RECORD_BYTES)
		return -EUCLEAN;
	detail = load_le32(p + 4);
	if (!detail_is_valid(load_le32(p), detail))
		return -EUCLEAN;
	r.state = (enum file_state)load_le32(p);
	if (r.state == FILE_FRESH)
		r.content = detail;
	else if (r.state == FILE_FAILED)
		r.error = (int)detail;
	r.identity.size = load_le64(p + 8);
	r.identity.mtime_ns = (int64_t)load_le64(p + 16);
	r.identity.ctime_ns = (int64_t)load_le64(p + 24);
	*out = r;
	return 0;
}

/* Digests that are not in the set are stored as zeros. */
void content_store(const struct digests *d, uint8_t *bytes)
{
	memset(bytes, 0, CONTENT_BYTES);
	memcpy(bytes, d->xxh128, 16);
	store_le64(bytes + 16, d->size);
	if (d->set & DIGEST_BIT(DIGEST_SIMHASH))
		store_le64(bytes + 24, d->simhash);
	if (d->set & DIGEST_BIT(DIGEST_RDC))
		memcpy(bytes + 32, d->traits, 16);
	store_le32(bytes + 48, d->set | DIGEST_BIT(DIGEST_XXH128));
}

int content_decode(const MDB_val *bytes, struct digests *out)
{
	const uint8_t *p = bytes->mv_data;
	struct digests d = { 0 };

	if (bytes->mv_size != CONTENT_BYTES)
		return -EUCLEAN;
	d.set = load_le32(p + 48);
	if ((d.set & ~DIGEST_KEPT) || !(d.set & DIGEST_BIT(DIGEST_XXH128)))
		return -EUCLEAN;
	memcpy(d.xxh128, p, 16);
	d.size = load_le64(p + 16);
	d.simhash = load_le64(p + 24);
	memcpy(d.traits, p + 32, 16);
	*out = d;
	return 0;
}

int content_id_decode(const MDB_val *bytes, uint32_t *out)
{
	uint32_t id;

	if (bytes->mv_size != CONTENT_KEY_BYTES)
		return -EUCLEAN;
	id = load_be32(bytes->mv_data);
	if (id == 0)
		return -EUCLEAN;
	*out = id;
	return 0;
}

void identity_key_store(const struct digests *d, uint8_t *bytes)
{
	memcpy(bytes, d->xxh128, 16);
	store_be64(bytes + 16, d->size);
}

void copy_key_store(uint32_t content, const struct file_key *key,
		    uint8_t *bytes)
{
	store_be32(bytes, content);
	file_key_store(key, bytes + CONTENT_KEY_BYTES);
}

int copy_key_decode(const MDB_val *bytes, uint32_t *content_out,
		    struct file_key *key_out)
{
	const uint8_t *p = bytes->mv_data;

	if (bytes->mv_size != COPY_KEY_BYTES)
		return -EUCLEAN;
	*content_out = load_be32(p);
	file_key_load(p + CONTENT_KEY_BYTES, key_out);
	return 0;
}

void meta_store(const struct catalog_meta *m, uint8_t *bytes)
{
	const struct catalog_counts *n = &m->counts;

	memcpy(bytes, meta_magic, 8);
	store_le32(bytes + 8, CATALOG_VERSION);
	store_le32(bytes + 12, m->digest_set);
	store_le64(bytes + 16, m->next_content);
	store_le64(bytes + 24, n->files);
	store_le64(bytes + 32, n->directories);
	store_le64(bytes + 40, n->fresh);
	store_le64(bytes + 48, n->failed);
	store_le64(bytes + 56, n->pending);
	store_le64(bytes + 64, n->pending_bytes);
	store_le64(bytes + 72, n->contents);
	store_le64(bytes + 80, n->content_bytes);
}

int meta_decode(const MDB_val *bytes, struct catalog_meta *out)
{
	const uint8_t *p = bytes->mv_data;
	struct catalog_meta m;
	struct catalog_counts *n = &m.counts;

	if (bytes->mv_size < 12 || memcmp(p, meta_magic, 8) != 0)
		return -EUCLEAN;
	if (load_le32(p + 8) != CATALOG_VERSION)
		return -EMEDIUMTYPE;
	if (bytes->mv_size != META_BYTES)
		return -EUCLEAN;
	m.digest_set = load_le32(p + 12);
	m.next_content = load_le64(p + 16);
	n->files = load_le64(p + 24);
	n->directories = load_le64(p + 32);
	n->fresh = load_le64(p + 40);
	n->failed = load_le64(p + 48);
	n->pending = load_le64(p + 56);
	n->pending_bytes = load_le64(p + 64);
	n->contents = load_le64(p + 72);
	n->content_bytes = load_le64(p + 80);
	if (m.next_content == 0 || m.next_content > UINT64_C(1) << 32 ||
	    n->contents >= m.next_content || n->contents > n->fresh ||
	    n->files != n->fresh + n->failed + n->pending)
		return -EUCLEAN;
	*out = m;
	return 0;
}

bool name_is_valid(struct catalog_name name)
{
	return name.len >= 1 && name.len <= NAME_BYTES_MAX &&
	       !memchr(name.bytes, '/', name.len) &&
	       !memchr(name.bytes, '\0', name.len);
}

size_t name_key_store(const struct file_key *parent, struct catalog_name name,
		      uint8_t *bytes)
{
	file_key_store(parent, bytes);
	memcpy(bytes + FILE_KEY_BYTES, name.bytes, name.len);
	return FILE_KEY_BYTES + name.len;
}

size_t link_key_store(const struct file_key *key, const struct file_key *parent,
		      struct catalog_name name, uint8_t *bytes)
{
	file_key_store(key, bytes);
	return FILE_KEY_BYTES +
	       name_key_store(parent, name, bytes + FILE_KEY_BYTES);
}

int name_key_decode(const MDB_val *bytes, struct file_key *parent_out,
		    struct catalog_name *name_out)
{
	const char *p = bytes->mv_data;
	struct catalog_name name;

	if (bytes->mv_size <= FILE_KEY_BYTES)
		return -EUCLEAN;
	name.bytes = p + FILE_KEY_BYTES;
	name.len = bytes->mv_size - FILE_KEY_BYTES;
	if (!name_is_valid(name))
		return -EUCLEAN;
	file_key_load((const uint8_t *)p, parent_out);
	*name_out = name;
	return 0;
}

int link_key_decode(const MDB_val *bytes, struct file_key *key_out,
		    struct file_key *parent_out, struct catalog_name *name_out)
{
	MDB_val rest;
	int err;

	if (bytes->mv_size <= FILE_KEY_BYTES)
		return -EUCLEAN;
	rest.mv_data = (char *)bytes->mv_data + FILE_KEY_BYTES;
	rest.mv_size = bytes->mv_size - FILE_KEY_BYTES;
	err = name_key_decode(&rest, parent_out, name_out);
	if (!err)
		file_key_load(bytes->mv_data, key_out);
	return err;
}
