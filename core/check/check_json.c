/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stddef.h>

#include "core/check/check.h"

const char *const check_kind_names[CHECK_KINDS] = {
	[CHECK_RECORD] = "record",
	[CHECK_ORPHAN] = "orphan",
	[CHECK_DIGEST] = "digest",
	[CHECK_INDEX] = "index",
};

/* The numbers in "counts". */
static const struct field {
	const char *name;
	size_t offset;
} fields[] = {
	{ "directories", offsetof(struct check_counts, directories) },
	{ "files", offsetof(struct check_counts, files) },
	{ "fresh", offsetof(struct check_counts, fresh) },
	{ "pending", offsetof(struct check_counts, pending) },
	{ "failed", offsetof(struct check_counts, failed) },
	{ "changed", offsetof(struct check_counts, stale) },
	{ "unknown", offsetof(struct check_counts, unknown) },
	{ "gone", offsetof(struct check_counts, gone) },
	{ "unread", offsetof(struct check_counts, unread) },
	{ "read", offsetof(struct check_counts, read) },
	{ "read_bytes", offsetof(struct check_counts, read_bytes) },
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

static int set(json_t *o, const char *name, uint64_t value)
{
	return json_object_set_new(o, name, json_integer((json_int_t)value));
}

static int fill_counts(json_t *o, const struct check_counts *n)
{
	const uint64_t *value;
	int i, failed = 0;

	for (i = 0; i < FIELD_COUNT; i++) {
		value = (const uint64_t *)((const char *)n + fields[i].offset);
		failed |= set(o, fields[i].name, *value);
	}
	return failed;
}

json_t *check_counts_to_json(const struct check_counts *counts)
{
	json_t *kinds = json_object(), *numbers = json_object();
	json_t *o = json_pack("{s:I, s:o, s:o}", "found",
			      (json_int_t)check_count_findings(counts),
			      "by_kind", kinds, "counts", numbers);
	int kind, failed = !o;

	for (kind = 0; !failed && kind < CHECK_KINDS; kind++)
		failed =
			set(kinds, check_kind_names[kind], counts->found[kind]);
	if (!failed)
		failed = fill_counts(numbers, counts);
	if (!failed)
		return o;
	json_decref(o);
	return NULL;
}

static uint64_t get(const json_t *o, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(o, name));
}

void check_counts_from_json(const json_t *value, struct check_counts *out)
{
	const json_t *kinds = json_object_get(value, "by_kind");
	const json_t *numbers = json_object_get(value, "counts");
	int i;

	*out = (struct check_counts){ 0 };
	for (i = 0; i < CHECK_KINDS; i++)
		out->found[i] = get(kinds, check_kind_names[i]);
	for (i = 0; i < FIELD_COUNT; i++)
		*(uint64_t *)((char *)out + fields[i].offset) =
			get(numbers, fields[i].name);
}
