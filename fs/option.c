/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/option.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "fs/log.h"

#define TIMEOUT_MAX 1e6

/* ---- values ---- */

static int parse_number(const char *text, uint64_t max, uint64_t *out)
{
	char *end;
	unsigned long long n;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || *end || n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

int option_replace(char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* ---- setting an option ---- */

static int set_digests(struct options *o, const char *value)
{
	int err = *value ? digest_parse_set(value, &o->digest_set) : -EINVAL;

	if (!err)
		o->kept_digests = o->digest_set & DIGEST_KEPT;
	return err;
}

/* The index of value in a list that ends with NULL. */
static int parse_choice(const char *value, const char *const *choices)
{
	for (int i = 0; choices[i]; i++)
		if (strcmp(value, choices[i]) == 0)
			return i;
	return -EINVAL;
}

static int set_xattrs(struct options *o, const char *value)
{
	static const char *const choices[] = { "list", "all", "hide", "strict",
					       NULL };
	int choice = parse_choice(value, choices);

	if (choice < 0)
		return choice;
	o->xattrs = (enum xattrs_mode)choice;
	return 0;
}

static int set_similar(struct options *o, const char *value)
{
	static const char *const choices[] = { "hide", "show", "off", NULL };
	int choice = parse_choice(value, choices);

	if (choice < 0)
		return choice;
	o->similar = (enum similar_mode)choice;
	return 0;
}

static int set_similar_name(struct options *o, const char *value)
{
	if (!*value || strlen(value) > NAME_MAX || strchr(value, '/') ||
	    strcmp(value, ".") == 0 || strcmp(value, "..") == 0)
		return -EINVAL;
	return option_replace(&o->similar_name, value);
}

static int set_measure(struct options *o, const char *value)
{
	static const uint32_t measures =
		DIGEST_BIT(DIGEST_SISE) | DIGEST_BIT(DIGEST_SIMHASH) |
		DIGEST_BIT(DIGEST_RDC) | DIGEST_BIT(DIGEST_SIF) |
		DIGEST_BIT(DIGEST_SSDEEP);
	const struct digest_ops *info = digest_find(value);

	if (strcmp(value, "best") == 0)
		o->measure = DIGEST_COUNT;
	else if (info && (measures & DIGEST_BIT(info->id)))
		o->measure = info->id;
	else
		return -EINVAL;
	return 0;
}

static int set_threshold(struct options *o, const char *value)
{
	uint64_t n;

	if (parse_number(value, 100, &n) || n == 0)
		return -EINVAL;
	o->threshold = (int)n;
	return 0;
}

static int set_share_min(struct options *o, const char *value)
{
	uint64_t n;

	if (text_parse_size(value, &n) || n < INDEX_SHARE_LEAST)
		return -EINVAL;
	o->share_min = n;
	return 0;
}

/* A query with this limit takes a second and some 100 MB. */
enum { LIMIT_MAX = 65536 };

static int set_limit(struct options *o, const char *value)
{
	uint64_t n;

	if (parse_number(value, LIMIT_MAX, &n))
		return -EINVAL;
	o->limit = n;
	return 0;
}

static int set_min_size(struct options *o, const char *value)
{
	return text_parse_size(value, &o->min_size);
}

static int set_max_size(struct options *o, const char *value)
{
	return text_parse_size(value, &o->max_size);
}

static int set_exclude(struct options *o, const char *value)
{
	char **more;

	if (!*value)
		return -EINVAL;
	more = realloc(o->excludes,
		       (o->exclude_count + 1) * sizeof(*o->excludes));
	if (!more)
		return -ENOMEM;
	o->excludes = more;
	more[o->exclude_count] = strdup(value);
	if (!more[o->exclude_count])
		return -ENOMEM;
	o->exclude_count++;
	return 0;
}

static int set_wait(struct options *o, const char *value)
{
	uint64_t n;

	if (parse_number(value, 1000000, &n))
		return -EINVAL;
	o->wait_s = (unsigned)n;
	return 0;
}

static int set_workers(struct options *o, const char *value)
{
	uint64_t n;

	if (parse_number(value, 1024, &n))
		return -EINVAL;
	o->workers = (unsigned)n;
	return 0;
}

static int set_rate(struct options *o, const char *value)
{
	uint64_t n;

	if (parse_number(value, 1000000, &n))
		return -EINVAL;
	o->rate = n * 1000000;
	return 0;
}

static int set_db(struct options *o, const char *value)
{
	return *value ? option_replace(&o->db, value) : -EINVAL;
}

static int set_timeout(struct options *o, const char *value)
{
	char *end;
	double n;

	if (!*value || value[strspn(value, "0123456789.")])
		return -EINVAL;
	n = strtod(value, &end);
	if (*end || n > TIMEOUT_MAX)
		return -EINVAL;
	o->timeout_s = n;
	o->timeout_given = true;
	return 0;
}

static int set_watch(struct options *o, const char *value)
{
	static const char *const choices[] = { "no", "yes", NULL };
	int choice = parse_choice(value, choices);

	if (choice < 0)
		return choice;
	o->watch = choice == 1;
	return 0;
}

static int set_passthrough(struct options *o, const char *value)
{
	static const char *const choices[] = { "auto", "no", NULL };
	int choice = parse_choice(value, choices);

	if (choice < 0)
		return choice;
	o->no_passthrough = choice == 1;
	return 0;
}

static int set_cross(struct options *o, const char *value)
{
	(void)value;
	o->cross = true;
	return 0;
}

static int set_sandbox(struct options *o, const char *value)
{
	static const char *const choices[] = { "no", "yes", NULL };
	int choice = parse_choice(value, choices);

	if (choice < 0)
		return choice;
	o->sandbox = choice;
	return 0;
}

/* ---- the table of options ---- */

struct option {
	const char *name;  /* with '=' when it has a value */
	const char *value; /* how the help shows it: alternatives, or a kind */
	const char *help;  /* the default in brackets */
	const char *wants; /* "the value must be" */
	int (*set)(struct options *o, const char *value);
	bool common; /* shown by kinfs -h; kinfs -o help shows all */
};

static const struct option ours[] = {
	{ "digests=", "LIST", "digests to keep, separated by ':'",
	  "names of digests separated by ':'", set_digests, true },
	{ "xattrs=", "list|all|hide|strict", "which digests are listed (list)",
	  "list, all, hide or strict", set_xattrs, false },
	{ "similar=", "hide|show|off", "whether / shows .similar (hide)",
	  "hide, show or off", set_similar, false },
	{ "similar_name=", "NAME", "instead of .similar", "a file name",
	  set_similar_name, false },
	{ "measure=", "best|sise|simhash|rdc|sif|ssdeep",
	  "what scores a listing (best)",
	  "best, sise, simhash, rdc, sif or ssdeep", set_measure, false },
	{ "threshold=", "N", "least score that is listed, 1 to 100 (60)",
	  "a number from 1 to 100", set_threshold, true },
	{ "share_min=", "SIZE", "of a passage in .shares, from 2K (16K)",
	  "a size from 2K, such as 16K or 1M", set_share_min, false },
	{ "limit=", "N", "near-duplicates of a file (256)", "a number",
	  set_limit, true },
	{ "min_size=", "SIZE", "smaller files are not hashed (0)",
	  "a size such as 4096 or 16K", set_min_size, true },
	{ "max_size=", "SIZE", "larger files are not hashed; 0: no limit (0)",
	  "a size such as 500M or 2G", set_max_size, true },
	{ "exclude=", "GLOB", "nor are these; may be repeated", "a pattern",
	  set_exclude, true },
	{ "cross", NULL, "hash other filesystems below SOURCE, too", NULL,
	  set_cross, false },
	{ "wait=", "SECONDS", "for a digest that is not ready (60)",
	  "a number of seconds", set_wait, true },
	{ "workers=", "N", "hashing threads; 0: one per processor (0)",
	  "a number from 0 to 1024", set_workers, false },
	{ "rate=", "MB/S", "reading in the background; 0: no limit (0)",
	  "a number of megabytes a second", set_rate, true },
	{ "db=", "DIR", "where the catalog is kept", "a directory", set_db,
	  true },
	{ "timeout=", "SECONDS", "attributes in the kernel's cache",
	  "a number of seconds", set_timeout, false },
	{ "watch=", "yes|no", "changes behind the mount are told (yes)",
	  "yes or no", set_watch, false },
	{ "passthrough=", "auto|no", "reads and writes by the kernel (auto)",
	  "auto or no", set_passthrough, false },
	{ "sandbox=", "yes|no", "give up unneeded privileges (yes)",
	  "yes or no", set_sandbox, false },
};

#define OURS_COUNT (sizeof(ours) / sizeof(ours[0]))

void option_print_help(bool all)
{
	enum { COLUMN = 24 }; /* where the help of an option begins */
	const struct option *option;
	size_t i;
	int width;

	for (i = 0; i < OURS_COUNT; i++) {
		option = &ours[i];
		if (!all && !option->common)
			continue;
		width = printf("  -o %s%s", option->name,
			       option->value ? option->value : "");
		if (width > COLUMN) {
			putchar('\n');
			width = 0;
		}
		printf("%*s  %s\n", COLUMN - width, "", option->help);
	}
}

bool option_is(const char *arg, const char *name)
{
	size_t len = strlen(name);

	if (name[len - 1] == '=')
		return strncmp(arg, name, len) == 0;
	return strcmp(arg, name) == 0;
}

static int set_option(struct options *o, const struct option *option,
		      const char *arg)
{
	int err = option->set(o, arg + strlen(option->name));

	if (err == -ENOMEM)
		log_line("option '%s': out of memory", arg);
	else if (err)
		log_line("option '%s': the value must be %s", arg,
			 option->wants);
	return err ? -1 : 0;
}

int option_set(struct options *o, const char *arg)
{
	for (size_t i = 0; i < OURS_COUNT; i++)
		if (option_is(arg, ours[i].name))
			return set_option(o, &ours[i], arg);
	return 1;
}

/* ---- unknown options ---- */

static const struct option *find_valued(const char *name, size_t len)
{
	for (size_t i = 0; i < OURS_COUNT; i++)
		if (ours[i].value && strlen(ours[i].name) == len + 1 &&
		    strncmp(ours[i].name, name, len) == 0)
			return &ours[i];
	return NULL;
}

static void guess_option(const char *arg, const char *const *names,
			 size_t count, struct text_guess *out)
{
	size_t i;

	text_guess_begin(out, arg, strcspn(arg, "="));
	for (i = 0; i < OURS_COUNT; i++)
		text_guess_offer(out, ours[i].name, strcspn(ours[i].name, "="));
	for (i = 0; i < count; i++)
		text_guess_offer(out, names[i], strcspn(names[i], "="));
}

void option_complain_unknown(const char *arg, const char *const *names,
			     size_t count)
{
	const struct option *valued = find_valued(arg, strlen(arg));
	struct text_guess g;

	guess_option(arg, names, count, &g);
	if (valued)
		log_line("option '%s': a value is missing; it must be %s", arg,
			 valued->wants);
	else if (digest_find(arg)) /* digests=sise,sif ends at the comma */
		log_line("option '%s': unknown; digests=LIST has its names "
			 "separated by ':', because ',' separates options",
			 arg);
	else if (g.best)
		log_line("option '%s': unknown; did you mean '-o %s'?", arg,
			 g.best);
	else
		log_line("option '%s': unknown; see 'kinfs -o help'", arg);
}
