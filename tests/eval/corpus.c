/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/corpus.h"

#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/eval/eval.h"

/* A set of windows takes 8 times that. */
#define LARGEST_FILE (64 * MIB)

/* ---- draws ---- */

static uint8_t exchanged[256]; /* by byte */
static bool is_exchanged;

/* Exchanges the bytes from first on among themselves. */
static void shuffle(uint8_t first, size_t count, uint64_t *state)
{
	size_t i, k;
	uint8_t byte;

	for (i = count; i > 1; i--) {
		k = draw_below(state, i);
		byte = exchanged[first + i - 1];
		exchanged[first + i - 1] = exchanged[first + k];
		exchanged[first + k] = byte;
	}
}

void set_draw(unsigned draw)
{
	uint64_t state = draw;
	size_t i;

	for (i = 0; i < 256; i++)
		exchanged[i] = (uint8_t)i;
	is_exchanged = draw != 0;
	if (!is_exchanged)
		return;
	shuffle('a', 26, &state);
	shuffle('0', 10, &state);
	shuffle(0x80, 128, &state);
	for (i = 0; i < 26; i++)
		exchanged['A' + i] = (uint8_t)(exchanged['a' + i] - 'a' + 'A');
}

void digest_content(struct fingerprint *fingerprint,
		    const struct bytes *content, struct digests *out)
{
	uint8_t *drawn = is_exchanged ? allocate(content->len) : NULL;
	size_t i;

	for (i = 0; drawn && i < content->len; i++)
		drawn[i] = exchanged[content->data[i]];
	fail_errno("digest", fingerprint_begin(fingerprint));
	fail_errno("digest", fingerprint_update(fingerprint,
						drawn ? drawn : content->data,
						content->len));
	fail_errno("digest", fingerprint_final(fingerprint, out));
	free(drawn);
}

/* ---- the corpus ---- */

void corpus_init(struct corpus *c, size_t most)
{
	*c = (struct corpus){ .most = most };
	fail_errno("fingerprint",
		   fingerprint_new(DIGEST_BIT(DIGEST_SIF), &c->fingerprint));
}

void corpus_release(struct corpus *c)
{
	size_t i;

	for (i = 0; i < c->count; i++) {
		digests_release(&c->files[i].digests);
		free(c->files[i].name);
		free(c->files[i].path);
	}
	for (i = 0; i < c->family_count; i++) {
		free(c->families[i].name);
		free(c->families[i].members);
	}
	tdestroy(c->seen, free);
	tdestroy(c->names, free);
	fingerprint_free(c->fingerprint);
	free(c->files);
	free(c->families);
	free(c->bases);
	*c = (struct corpus){ 0 };
}

/* ---- contents ---- */

struct content_key {
	uint8_t xxh128[16];
	uint64_t size;
};

static int by_content(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct content_key));
}

static bool is_new(struct corpus *c, const struct digests *d)
{
	struct content_key *key = allocate(sizeof(*key));
	struct content_key **node;

	memcpy(key->xxh128, d->xxh128, sizeof(key->xxh128));
	key->size = d->size;
	node = tsearch(key, &c->seen, by_content);
	if (!node)
		fail("no memory");
	if (*node == key)
		return true;
	free(key);
	return false;
}

/* Takes the name and the path of f in any case. */
static bool add_file(struct corpus *c, struct file *f, const struct bytes *b)
{
	struct family *family = &c->families[f->family];
	bool wanted = c->count < c->most && b->len;

	if (wanted) {
		digest_content(c->fingerprint, b, &f->digests);
		wanted = is_new(c, &f->digests);
		c->repeats += !wanted;
	}
	if (!wanted) {
		digests_release(&f->digests);
		free(f->name);
		free(f->path);
		return false;
	}
	family->members =
		grown(family->members, family->count, sizeof(*family->members));
	family->members[family->count++] = (uint32_t)c->count;
	c->files = grown(c->files, c->count, sizeof(*c->files));
	c->files[c->count++] = *f;
	c->bytes += b->len;
	return true;
}

static uint32_t add_family(struct corpus *c, const char *name, bool star)
{
	c->families = grown(c->families, c->family_count, sizeof(*c->families));
	c->families[c->family_count] = (struct family){
		.name = allocate_text("%s", name),
		.held_out = hash_text(name) >> 32 & 1,
		.star = star,
	};
	return (uint32_t)c->family_count++;
}

/* ---- edits ---- */

void corpus_add_base(struct corpus *c, const char *name,
		     const struct base *base)
{
	struct file f = { .name = allocate_text("%s", name) };

	c->bases = grown(c->bases, c->base_count, sizeof(*c->bases));
	c->bases[c->base_count] = *base;
	f.base = (uint32_t)c->base_count++;
	f.family = add_family(c, name, true);
	(void)add_file(c, &f, &base->content);
}

void corpus_add_edit(struct corpus *c, const struct edit *e)
{
	const struct family *family = &c->families[c->family_count - 1];
	const struct base *base = &c->bases[c->base_count - 1];
	struct file f = { .base = (uint32_t)c->base_count - 1,
			  .family = (uint32_t)c->family_count - 1,
			  .edit = *e };
	struct bytes b;

	if (!family->count)
		return; /* the base was there before */
	f.name = allocate_text("%s, %s %.2f %%", family->name,
			       edit_infos[e->kind].name, e->amount / 100.0);
	b = edit_apply(e, base->content.data, base->content.len, &base->donor);
	(void)add_file(c, &f, &b);
	free(b.data);
}

/* ---- files ---- */

struct family_key {
	uint32_t family;
	char name[];
};

static int by_name(const void *a, const void *b)
{
	const struct family_key *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static uint32_t family_of(struct corpus *c, const char *name)
{
	size_t len = strlen(name) + 1;
	struct family_key *key = allocate(sizeof(*key) + len);
	struct family_key **node;

	memcpy(key->name, name, len);
	node = tsearch(key, &c->names, by_name);
	if (!node)
		fail("no memory");
	if (*node == key)
		key->family = add_family(c, name, false);
	else
		free(key);
	return (*node)->family;
}

static bool read_all(int fd, struct bytes *b)
{
	size_t have = 0;
	ssize_t got = 1;

	while (have < b->len && got > 0) {
		got = read(fd, b->data + have, b->len - have);
		if (got > 0)
			have += (size_t)got;
	}
	return have == b->len;
}

bool file_read(const char *path, size_t most, struct bytes *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct bytes b = { 0 };
	struct stat st;
	bool done = false;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    (uint64_t)st.st_size <= most) {
		b.len = (size_t)st.st_size;
		b.data = allocate(b.len);
		done = read_all(fd, &b);
	}
	close(fd);
	if (done)
		*out = b;
	else
		free(b.data);
	return done;
}

void corpus_add_file(struct corpus *c, const char *path, const char *key)
{
	struct file f = { 0 };
	struct bytes b;

	if (!file_read(path, LARGEST_FILE, &b))
		return;
	f.name = allocate_text("%s", path);
	f.path = allocate_text("%s", path);
	f.family = family_of(c, key);
	(void)add_file(c, &f, &b);
	free(b.data);
}

struct bytes corpus_read(const struct corpus *c, size_t file)
{
	const struct file *f = &c->files[file];
	const struct base *base = &c->bases[f->base];
	struct bytes b;

	if (f->path) {
		if (!file_read(f->path, LARGEST_FILE, &b))
			fail("%s: changed while we looked", f->path);
		return b;
	}
	if (f->edit.amount)
		return edit_apply(&f->edit, base->content.data,
				  base->content.len, &base->donor);
	b = (struct bytes){ allocate(base->content.len), base->content.len };
	memcpy(b.data, base->content.data, b.len);
	return b;
}
