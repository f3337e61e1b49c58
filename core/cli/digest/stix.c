/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/hex.h"
#include "core/cli/digest/digest_exchange.h"

/*
 * STIX 2.1: files and directories as cyber-observable objects.
 *
 * Their identifiers are UUIDv5 of the properties that identify them (2.9), as
 * canonical JSON (RFC 8785), so that two programs that saw one file say one
 * name.  Of several hashes the first of MD5, SHA-1, SHA-256 and SHA-512 counts.
 *
 * Names are UTF-8.  One that is not is written as if each byte were a character
 * of ISO-8859-1, and says so (name_enc, path_enc), so no byte is lost.
 */

enum { UUID_BYTES = 16, UUID_TEXT = 36 };

/* ---- text ---- */

static bool is_utf8(const char *text)
{
	json_t *value = json_string(text);

	json_decref(value);
	return value;
}

static int append_latin1(struct buf *out, const char *text)
{
	int err = 0;

	for (; *text && !err; text++) {
		uint8_t c = (uint8_t)*text;
		const char two[2] = { (char)(0xc0 | c >> 6),
				      (char)(0x80 | (c & 0x3f)) };

		err = c < 0x80 ? buf_append(out, text, 1) :
				 buf_append(out, two, sizeof(two));
	}
	return err ? err : buf_append(out, "", 0);
}

/* The string as RFC 8785, 3.2.2.2 has it; text is UTF-8. */
static int append_string(struct buf *out, const char *text)
{
	static const char special[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
	const char *at;
	int err = buf_append_text(out, "\"");

	for (; *text && !err; text++) {
		at = strchr(special, *text);
		if (at)
			err = buf_append_format(out, "\\%c",
						letters[at - special]);
		else if ((uint8_t)*text < ' ')
			err = buf_append_format(out, "\\u%04x",
						(unsigned)*text);
		else
			err = buf_append(out, text, 1);
	}
	return err ? err : buf_append_text(out, "\"");
}

/* As a string in JSON, UTF-8 in any case. */
static int append_name(struct buf *out, const char *name)
{
	struct buf text = { 0 };
	int err = is_utf8(name) ? buf_append_text(&text, name) :
				  append_latin1(&text, name);

	if (!err)
		err = append_string(out, text.data);
	buf_release(&text);
	return err;
}

/* ,"KEY":"NAME", and its encoding if it needs one. */
static int append_named(struct buf *out, const char *key, const char *name)
{
	int err = buf_append_format(out, ",\"%s\":", key);

	if (!err)
		err = append_name(out, name);
	if (!err && !is_utf8(name))
		err = buf_append_format(out, ",\"%s_enc\":\"ISO-8859-1\"", key);
	return err;
}

/* ---- identifiers ---- */

static void uuid_print(uint8_t bytes[UUID_BYTES], unsigned version,
		       char out[UUID_TEXT + 1])
{
	char hex[2 * UUID_BYTES + 1];

	bytes[6] = (uint8_t)((bytes[6] & 0x0f) | version << 4);
	bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
	hex_encode(bytes, UUID_BYTES, hex);
	(void)snprintf(out, UUID_TEXT + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
		       hex + 8, hex + 12, hex + 16, hex + 20);
}

/* RFC 4122, 4.3, in the namespace of STIX. */
static int id_of(const char *type, const struct buf *canonical,
		 char out[STIX_ID_BYTES])
{
	static const uint8_t space[UUID_BYTES] = { 0x00, 0xab, 0xed, 0xb4,
						   0xaa, 0x42, 0x46, 0x6c,
						   0x9c, 0x01, 0xfe, 0xd2,
						   0x33, 0x15, 0xa9, 0xb7 };
	uint8_t hash[EVP_MAX_MD_SIZE];
	char uuid[UUID_TEXT + 1];
	EVP_MD_CTX *sha1 = EVP_MD_CTX_new();
	bool done = sha1 && EVP_DigestInit_ex(sha1, EVP_sha1(), NULL) &&
		    EVP_DigestUpdate(sha1, space, sizeof(space)) &&
		    EVP_DigestUpdate(sha1, canonical->data, canonical->len) &&
		    EVP_DigestFinal_ex(sha1, hash, NULL);

	EVP_MD_CTX_free(sha1);
	if (!done)
		return -ENOMEM;
	uuid_print(hash, 5, uuid);
	(void)snprintf(out, STIX_ID_BYTES, "%s--%s", type, uuid);
	return 0;
}

/* {"KEY":VALUE ... in the order of the keys, which is that of the caller. */
static int file_id(const struct content_sums *sums, const char *name,
		   const char *directory_id, char out[STIX_ID_BYTES])
{
	struct buf text = { 0 };
	int err = buf_append_format(&text, "{\"hashes\":{\"MD5\":\"%s\"}",
				    sums->md5);

	if (!err && name)
		err = buf_append_text(&text, ",\"name\":");
	if (!err && name)
		err = append_name(&text, name);
	if (!err && directory_id)
		err = buf_append_format(&text,
					",\"parent_directory_ref\":\"%s\"",
					directory_id);
	if (!err)
		err = buf_append_text(&text, "}");
	if (!err)
		err = id_of("file", &text, out);
	buf_release(&text);
	return err;
}

int stix_directory_id(const char *path, char out[STIX_ID_BYTES])
{
	struct buf text = { 0 };
	int err = buf_append_text(&text, "{\"path\":");

	if (!err)
		err = append_name(&text, path);
	if (!err)
		err = buf_append_text(&text, "}");
	if (!err)
		err = id_of("directory", &text, out);
	buf_release(&text);
	return err;
}

/* ---- objects ---- */

static int begin_object(struct buf *out, const char *type, const char *id)
{
	return buf_append_format(out,
				 "{\"type\":\"%s\",\"spec_version\":\"2.1\","
				 "\"id\":\"%s\"",
				 type, id);
}

int stix_append_file(struct buf *out, const struct content_sums *sums,
		     const char *ssdeep, const char *name,
		     const char *directory_id)
{
	char id[STIX_ID_BYTES];
	int err = file_id(sums, name, directory_id, id);

	if (!err)
		err = begin_object(out, "file", id);
	if (!err)
		err = buf_append_format(
			out,
			",\"hashes\":{\"MD5\":\"%s\","
			"\"SHA-256\":\"%s\"%s%s%s},\"size\":%llu",
			sums->md5, sums->sha256, ssdeep ? ",\"SSDEEP\":\"" : "",
			ssdeep ? ssdeep : "", ssdeep ? "\"" : "",
			(unsigned long long)sums->size);
	if (!err && name)
		err = append_named(out, "name", name);
	if (!err && directory_id)
		err = buf_append_format(out, ",\"parent_directory_ref\":\"%s\"",
					directory_id);
	return err ? err : buf_append_text(out, "}");
}

int stix_append_directory(struct buf *out, const char *path)
{
	char id[STIX_ID_BYTES];
	int err = stix_directory_id(path, id);

	if (!err)
		err = begin_object(out, "directory", id);
	if (!err)
		err = append_named(out, "path", path);
	return err ? err : buf_append_text(out, "}");
}

int stix_append_bundle(struct buf *out)
{
	uint8_t bytes[UUID_BYTES];
	char uuid[UUID_TEXT + 1];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	uuid_print(bytes, 4, uuid);
	return buf_append_format(out,
				 "{\"type\":\"bundle\",\"id\":\"bundle--%s\","
				 "\"objects\":[\n",
				 uuid);
}
