/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lib/kin.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/digest/digest.h"
#include "core/digest/fingerprint.h"

struct kin_digester {
	struct fingerprint *fingerprint;
	bool begun;
	int failed; /* what update returned */
};

struct kin_digests {
	struct digests digests;
	/* Made with the digests, so that reading one changes nothing. */
	struct buf texts[DIGEST_COUNT];
};

const char *kin_version(void)
{
	return KINFS_VERSION;
}

const char *kin_digest_name(unsigned i)
{
	return i < DIGEST_COUNT ? digest_table[i]->name : NULL;
}

static const struct digest_ops *find(const char *name)
{
	return name ? digest_find(name) : NULL;
}

/* ---- computing ---- */

int kin_digester_new(const char *names, struct kin_digester **out)
{
	struct kin_digester *d;
	uint32_t set = DIGEST_DEFAULT;
	int err = names ? digest_parse_set(names, &set) : 0;

	if (err)
		return err;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	err = fingerprint_new(set, &d->fingerprint);
	if (err) {
		free(d);
		return err;
	}
	*out = d;
	return 0;
}

void kin_digester_free(struct kin_digester *d)
{
	if (!d)
		return;
	fingerprint_free(d->fingerprint);
	free(d);
}

void kin_digester_reset(struct kin_digester *d)
{
	d->begun = false;
	d->failed = 0;
}

static int begin(struct kin_digester *d)
{
	if (d->begun || d->failed)
		return d->failed;
	d->failed = fingerprint_begin(d->fingerprint);
	d->begun = !d->failed;
	return d->failed;
}

int kin_digester_update(struct kin_digester *d, const void *data, size_t len)
{
	int err = begin(d);

	if (!err)
		err = fingerprint_update(d->fingerprint, data, len);
	d->failed = err;
	return err;
}

static int make_texts(struct kin_digests *d)
{
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++)
		if (d->digests.set & DIGEST_BIT(id))
			err = digest_format(&d->digests, (enum digest_id)id,
					    &d->texts[id]);
	return err;
}

int kin_digester_final(struct kin_digester *d, struct kin_digests **out)
{
	struct kin_digests *result = NULL;
	int err = begin(d);

	if (!err)
		err = kin_digests_new(&result);
	if (!err)
		err = fingerprint_final(d->fingerprint, &result->digests);
	if (!err)
		err = make_texts(result);
	kin_digester_reset(d);
	if (err)
		kin_digests_free(result);
	else
		*out = result;
	return err;
}

/* ---- results ---- */

int kin_digests_new(struct kin_digests **out)
{
	struct kin_digests *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	*out = d;
	return 0;
}

static void release(struct kin_digests *d)
{
	int id;

	for (id = 0; id < DIGEST_COUNT; id++)
		buf_release(&d->texts[id]);
	digests_release(&d->digests);
}

void kin_digests_free(struct kin_digests *d)
{
	if (!d)
		return;
	release(d);
	free(d);
}

const char *kin_digests_text(const struct kin_digests *d, const char *name)
{
	const struct digest_ops *info = find(name);

	return info ? d->texts[info->id].data : NULL;
}

uint64_t kin_digests_size(const struct kin_digests *d)
{
	return d->digests.size;
}

int kin_digests_set(struct kin_digests *d, const char *name, const char *text)
{
	const struct digest_ops *info = find(name);
	struct kin_digests next = { 0 };
	int err = info && text ? 0 : -EINVAL;

	if (!err)
		err = digests_copy(&d->digests, &next.digests);
	if (!err)
		err = digest_parse(info->id, text, strlen(text), &next.digests);
	if (!err)
		err = make_texts(&next);
	if (err) {
		release(&next);
		return err;
	}
	release(d);
	*d = next;
	return 0;
}

/* ---- comparing ---- */

int kin_score(const struct kin_digests *a, const struct kin_digests *b,
	      const char *name, int *score_out)
{
	const struct digest_ops *info = find(name);

	if (!info)
		return -EINVAL;
	return digest_compare(info->id, &a->digests, &b->digests, score_out);
}

int kin_tlsh_distance(const struct kin_digests *a, const struct kin_digests *b,
		      int *distance_out)
{
	return digest_tlsh_distance(&a->digests, &b->digests, distance_out);
}
