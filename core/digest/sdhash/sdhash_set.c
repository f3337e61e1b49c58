/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/sdhash/sdhash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/digest/sdhash/sdhash_impl.h"

#define MEBIBYTE_SHIFT 20

void sdhash_set_release(struct sdhash_set *set)
{
	size_t i;

	for (i = 0; i < set->count; i++)
		sdhash_digest_release(&set->digests[i]);
	free(set->digests);
	*set = (struct sdhash_set){ 0 };
}

/* ---- reading ---- */

static int add_line(struct sdhash_set *set, const char *line, size_t len,
		    const char **reason_out)
{
	struct sdhash_digest *digests = array_with_room(
		set->digests, set->count, sizeof(*set->digests));
	int err;

	if (!digests)
		return -ENOMEM;
	set->digests = digests;
	digests[set->count] = (struct sdhash_digest){ 0 };
	err = sdhash_parse(line, len, &digests[set->count], reason_out);
	if (!err)
		set->count++;
	return err;
}

static int read_lines(const char *text, size_t len, struct sdhash_set *set,
		      struct sdhash_fault *fault)
{
	const char *end = text + len, *next;
	size_t part;
	int err = 0;

	for (; text < end && !err; text = next) {
		next = memchr(text, '\n', (size_t)(end - text));
		part = (size_t)((next ? next : end) - text);
		next = next ? next + 1 : end;
		fault->line++;
		if (part > 0 && text[part - 1] == '\r')
			part--;
		if (part > 0)
			err = add_line(set, text, part, &fault->reason);
	}
	return err;
}

int sdhash_set_parse(const char *text, size_t len, struct sdhash_set *set_out,
		     struct sdhash_fault *fault_out)
{
	struct sdhash_set set = { 0 };
	struct sdhash_fault fault = { 0, NULL };
	int err;

	err = read_lines(text, len, &set, &fault);
	if (!err && set.count == 0) {
		fault = (struct sdhash_fault){ 0, "there is no digest" };
		err = -EINVAL;
	}
	if (err) {
		if (err == -EINVAL)
			*fault_out = fault;
		sdhash_set_release(&set);
		return err;
	}
	sdhash_set_release(set_out);
	*set_out = set;
	return 0;
}

/* ---- segments ---- */

/* Length of the name of the file that name is the segment at offset of; 0 if
 * it is not. */
static size_t segment_of(const struct buf *name, uint64_t offset)
{
	struct buf suffix = { 0 };
	size_t len = 0;

	if (buf_append_format(&suffix, ".%04" PRIu64 "M",
			      offset >> MEBIBYTE_SHIFT))
		return 0;
	if (name->len > suffix.len &&
	    memcmp(name->data + name->len - suffix.len, suffix.data,
		   suffix.len) == 0)
		len = name->len - suffix.len;
	buf_release(&suffix);
	return len;
}

/* Whether that digest goes on where those before it ended. */
static bool continues(const struct sdhash_digest *first,
		      const struct sdhash_digest *d, uint64_t offset)
{
	size_t len = segment_of(&first->name, 0);

	return len > 0 && first->block_size > 0 &&
	       d->block_size == first->block_size &&
	       offset % d->block_size == 0 &&
	       segment_of(&d->name, offset) == len &&
	       memcmp(d->name.data, first->name.data, len) == 0;
}

static int append_filters(struct sdhash_digest *out,
			  const struct sdhash_digest *d)
{
	size_t count = out->count;
	int err;

	if (d->count == 0)
		return 0;
	err = sdhash_add_filters(out, d->count);
	if (!err)
		memcpy(&out->filters[count], d->filters,
		       d->count * sizeof(*d->filters));
	return err;
}

static int join(const struct sdhash_set *set, struct sdhash_digest *out)
{
	const struct sdhash_digest *first = set->digests;
	size_t i, len = first->name.len;
	int err = 0;

	if (set->count > 1)
		len = segment_of(&first->name, 0);
	out->block_size = first->block_size;
	for (i = 0; i < set->count && !err; i++) {
		if (set->count > 1 &&
		    !continues(first, &set->digests[i], out->size))
			return -EINVAL;
		out->size += set->digests[i].size;
		err = append_filters(out, &set->digests[i]);
	}
	if (!err)
		err = buf_append(&out->name, first->name.data, len);
	return err;
}

int sdhash_set_join(const struct sdhash_set *set, struct sdhash_digest *d_out)
{
	struct sdhash_digest d = { 0 };
	int err = -EINVAL;

	if (set->count > 0)
		err = join(set, &d);
	if (err) {
		sdhash_digest_release(&d);
		return err;
	}
	sdhash_digest_release(d_out);
	*d_out = d;
	return 0;
}
