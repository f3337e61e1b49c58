/* SPDX-License-Identifier: Apache-2.0 */
#include "core/catalog/catalog_impl.h"

#include <errno.h>
#include <string.h>

#include "core/base/bytes.h"
#include "core/base/xxh3.h"

/* The first byte of a key whose device is not 0. */
#define OTHER_DEVICE 0x80

static unsigned bytes_of(uint64_t number)
{
	return number ? (71 - (unsigned)__builtin_clzll(number)) / 8 : 0;
}

/* The device comes first, so that the pending files of a filesystem are hashed
 * in the order of their inodes. */
struct record_key key_of_number(uint32_t device, uint64_t inode)
{
	unsigned count = bytes_of(inode);
	struct record_key k;

	k.len = 0;
	if (device) {
		k.bytes[0] = OTHER_DEVICE;
		store_be32(k.bytes + 1, device);
		k.len = 5;
	}
	k.bytes[k.len++] = (uint8_t)count;
	while (count-- > 0)
		k.bytes[k.len++] = (uint8_t)(inode >> 8 * count);
	return k;
}

static void key_append(struct record_key *k, const void *bytes, size_t len)
{
	memcpy(k->bytes + k->len, bytes, len);
	k->len += len;
}

struct record_key key_of_bytes(const void *bytes, size_t len)
{
	struct record_key k;

	k.len = 0;
	key_append(&k, bytes, len);
	return k;
}

struct record_key key_of_file(const struct file_key *key)
{
	struct record_key k = key_of_number(key->device, key->inode);

	k.bytes[k.len++] = (uint8_t)(key->generation >> 8);
	k.bytes[k.len++] = (uint8_t)key->generation;
	return k;
}

struct record_key key_of_id(uint32_t id)
{
	struct record_key k;

	k.len = CONTENT_KEY_BYTES;
	store_be32(k.bytes, id);
	return k;
}

/* The seed is a secret: otherwise somebody could make many contents with one
 * hash, which are all compared when another one comes.  Many with one XXH128
 * and size differ by their identities. */
struct record_key key_of_identity(uint64_t seed, const struct digests *d,
				  uint32_t content)
{
	uint8_t name[24];
	struct record_key k;

	memcpy(name, d->xxh128, 16);
	store_be64(name + 16, d->size);
	store_be64(k.bytes, XXH3_64bits_withSeed(name, sizeof(name), seed));
	memcpy(k.bytes + IDENTITY_HASH_BYTES, d->identity, IDENTITY_HASH_BYTES);
	store_be32(k.bytes + 2 * IDENTITY_HASH_BYTES, content);
	k.len = 2 * IDENTITY_HASH_BYTES + CONTENT_KEY_BYTES;
	return k;
}

struct record_key key_of_copy(uint32_t content, const struct file_key *key)
{
	struct record_key k = key_of_id(content), file = key_of_file(key);

	key_append(&k, file.bytes, file.len);
	return k;
}

struct record_key key_of_name(const struct file_key *parent,
			      struct catalog_name name)
{
	struct record_key k = key_of_file(parent);

	key_append(&k, name.bytes, name.len);
	return k;
}

struct record_key key_of_link(const struct file_key *key,
			      const struct file_key *parent,
			      struct catalog_name name)
{
	struct record_key k = key_of_file(key), of = key_of_name(parent, name);

	key_append(&k, of.bytes, of.len);
	return k;
}

bool name_is_valid(struct catalog_name name)
{
	return name.len >= 1 && name.len <= NAME_BYTES_MAX &&
	       !memchr(name.bytes, '/', name.len) &&
	       !memchr(name.bytes, '\0', name.len);
}

bool name_is_former(struct catalog_name name)
{
	return name.len == 1 && *name.bytes == '/';
}

/* Takes a file key off the front; false: it is not valid. */
static bool take_file_key(const uint8_t **at, const uint8_t *end,
			  struct file_key *out)
{
	struct file_key key = { 0 };
	const uint8_t *p = *at;
	unsigned count, i;

	if (p < end && *p == OTHER_DEVICE) {
		if (end - p < 5)
			return false;
		key.device = load_be32(p + 1);
		if (!key.device)
			return false;
		p += 5;
	}
	if (p == end)
		return false;
	count = *p++;
	if (count > 8 || (size_t)(end - p) < count + 2)
		return false;
	for (i = 0; i < count; i++)
		key.inode = key.inode << 8 | *p++;
	key.generation = (uint16_t)(p[0] << 8 | p[1]);
	*at = p + 2;
	*out = key;
	return bytes_of(key.inode) == count;
}

/* One file key, or two, and a name, or nothing. */
static int decode(const MDB_val *bytes, struct file_key *first_out,
		  struct file_key *second_out, struct catalog_name *name_out)
{
	const uint8_t *at = bytes->mv_data, *end = at + bytes->mv_size;
	struct file_key first, second;
	struct catalog_name name;

	if (!take_file_key(&at, end, &first) ||
	    (second_out && !take_file_key(&at, end, &second)))
		return -EUCLEAN;
	name = (struct catalog_name){ (const char *)at, (size_t)(end - at) };
	if (name_out ? !name_is_valid(name) && !name_is_former(name) :
		       name.len != 0)
		return -EUCLEAN;
	*first_out = first;
	if (second_out)
		*second_out = second;
	if (name_out)
		*name_out = name;
	return 0;
}

int file_key_decode(const MDB_val *bytes, struct file_key *out)
{
	return decode(bytes, out, NULL, NULL);
}

int copy_key_decode(const MDB_val *bytes, uint32_t *content_out,
		    struct file_key *key_out)
{
	const uint8_t *p = bytes->mv_data;
	const MDB_val file = { bytes->mv_size - CONTENT_KEY_BYTES,
			       (void *)(uintptr_t)(p + CONTENT_KEY_BYTES) };

	if (bytes->mv_size < CONTENT_KEY_BYTES ||
	    decode(&file, key_out, NULL, NULL))
		return -EUCLEAN;
	*content_out = load_be32(p);
	return 0;
}

int name_key_decode(const MDB_val *bytes, struct file_key *parent_out,
		    struct catalog_name *name_out)
{
	return decode(bytes, parent_out, NULL, name_out);
}

int link_key_decode(const MDB_val *bytes, struct file_key *key_out,
		    struct file_key *parent_out, struct catalog_name *name_out)
{
	return decode(bytes, key_out, parent_out, name_out);
}

/* ---- values ---- */

bool value_copy(const MDB_val *value, void *out, size_t size)
{
	if (value->mv_size == size)
		memcpy(out, value->mv_data, size);
	return value->mv_size == size;
}

int file_record_decode(const MDB_val *bytes, struct file_record *out)
{
	struct file_record r;

	if (!value_copy(bytes, &r, sizeof(r)) || r.state > FILE_DIRECTORY ||
	    (r.state == FILE_FRESH) != (r.content != 0) ||
	    (r.state == FILE_FAILED) != (r.error != 0))
		return -EUCLEAN;
	*out = r;
	return 0;
}

int content_decode(const MDB_val *bytes, struct digests *out)
{
	struct digests d = { 0 };
	int id;

	if (!value_copy(bytes, &d, CONTENT_BYTES) || d.set & ~DIGEST_STORED ||
	    !(d.set & DIGEST_BIT(DIGEST_XXH128)))
		return -EUCLEAN;
	for (id = 0; id < DIGEST_COUNT; id++)
		if (digest_table[id]->offset && d.set & DIGEST_BIT(id) &&
		    !digest_is_valid(id, digest_value_of(&d, id)))
			return -EUCLEAN;
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

int meta_decode(const MDB_val *bytes, struct catalog_meta *out)
{
	static const size_t until_version =
		offsetof(struct catalog_meta, version) + sizeof(out->version);
	struct catalog_meta m;

	if (bytes->mv_size < until_version)
		return -EUCLEAN;
	memcpy(&m, bytes->mv_data, until_version);
	if (memcmp(m.magic, META_MAGIC, sizeof(m.magic)) != 0)
		return -EUCLEAN;
	if (m.version != CATALOG_VERSION)
		return -EMEDIUMTYPE;
	if (!value_copy(bytes, &m, sizeof(m)) || m.next_content == 0 ||
	    m.next_content > UINT64_C(1) << 32)
		return -EUCLEAN;
	*out = m;
	return 0;
}

/* ---- sums ---- */

uint16_t record_sum(const MDB_val *key, const void *value, size_t len)
{
	return (uint16_t)(XXH3_64bits(key->mv_data, key->mv_size) +
			  XXH3_64bits(value, len));
}

bool record_take_sum(const MDB_val *key, MDB_val *value)
{
	const uint8_t *bytes = value->mv_data;

	if (value->mv_size < RECORD_SUM_BYTES)
		return false;
	value->mv_size -= RECORD_SUM_BYTES;
	return load_le16(bytes + value->mv_size) ==
	       record_sum(key, bytes, value->mv_size);
}
