/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <stddef.h>

#include "core/check/check.h"

const char *const audit_kind_names[AUDIT_KINDS] = {
	[AUDIT_RECORD] = "record",
	[AUDIT_ORPHAN] = "orphan",
	[AUDIT_DIGEST] = "digest",
	[AUDIT_INDEX] = "index",
};

/* What is a number of its own in "counts". */
static const struct field {
	const char *name;
	size_t offset;
} fields[] = {
	{ "directories", offsetof(struct audit_counts, directories) },
	{ "files", offsetof(struct audit_counts, files) },
	{ "fresh", offsetof(struct audit_counts, fresh) },
	{ "pending", offsetof(struct audit_counts, pending) },
	{ "failed", offsetof(struct audit_counts, failed) },
	{ "changed", offsetof(struct audit_counts, stale) },
	{ "unknown", offsetof(struct audit_counts, unknown) },
	{ "gone", offsetof(struct audit_counts, gone) },
	{ "unread", offsetof(struct audit_counts, unread) },
	{ "read", offsetof(struct audit_counts, read) },
	{ "read_bytes", offsetof(struct audit_counts, read_bytes) },
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

static int set(json_t *o, const char *name, uint64_t value)
{
	return json_object_set_new(o, name, json_integer((json_int_t)value));
}

static int fill_counts(json_t *o, const struct audit_counts *n)
{
	const uint64_t *value;
	int i, failed = 0;

	for (i = 0; i < FIELD_COUNT; i++) {
		value = (const uint64_t *)((const char *)n + fields[i].offset);
		failed |= set(o, fields[i].name, *value);
	}
	return failed;
}

json_t *audit_to_json(const struct audit_counts *counts)
{
	json_t *kinds = json_object(), *numbers = json_object();
	json_t *o = json_pack("{s:I, s:I, s:o, s:o}", "found",
			      (json_int_t)audit_findings(counts), "mended",
			      (json_int_t)counts->mended, "by_kind", kinds,
			      "counts", numbers);
	int kind, failed = !o;

	for (kind = 0; !failed && kind < AUDIT_KINDS; kind++)
		failed =
			set(kinds, audit_kind_names[kind], counts->found[kind]);
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

void audit_from_json(const json_t *value, struct audit_counts *out)
{
	const json_t *kinds = json_object_get(value, "by_kind");
	const json_t *numbers = json_object_get(value, "counts");
	int i;

	*out = (struct audit_counts){ .mended = get(value, "mended") };
	for (i = 0; i < AUDIT_KINDS; i++)
		out->found[i] = get(kinds, audit_kind_names[i]);
	for (i = 0; i < FIELD_COUNT; i++)
		*(uint64_t *)((char *)out + fields[i].offset) =
			get(numbers, fields[i].name);
}
