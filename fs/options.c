/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/options.h"

#include <errno.h>
#include <fuse_opt.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/digest.h"
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

/* A number of bytes, with K, M, G or T for powers of 1024. */
static int parse_size(const char *text, uint64_t *out)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	char *end;
	unsigned long long n;
	unsigned shift = 0;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -EINVAL;
	suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (*end || n > UINT64_MAX >> shift)
		return -EINVAL;
	*out = (uint64_t)n << shift;
	return 0;
}

static int replace_text(char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* ---- our options ---- */

static int add_digest(const char *name, size_t len, uint32_t *set)
{
	char copy[32];
	const struct digest_info *info;

	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, name, len);
	copy[len] = '\0';
	info = digest_find(copy);
	if (!info)
		return -EINVAL;
	*set |= DIGEST_BIT(info->id);
	return 0;
}

static int set_digests(struct options *o, const char *value)
{
	uint32_t set = DIGEST_BIT(DIGEST_XXH128);
	int err = *value ? 0 : -EINVAL;

	while (*value && !err) {
		size_t len = strcspn(value, ":,");

		err = add_digest(value, len, &set);
		value += len;
		if (*value)
			value++;
	}
	if (!err)
		o->digest_set = set;
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
	static const char *const choices[] = { "list", "hide", "strict", NULL };
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
	return replace_text(&o->similar_name, value);
}

static int set_measure(struct options *o, const char *value)
{
	static const uint32_t measures =
		DIGEST_BIT(DIGEST_SISE) | DIGEST_BIT(DIGEST_SIMHASH) |
		DIGEST_BIT(DIGEST_RDC) | DIGEST_BIT(DIGEST_SIF) |
		DIGEST_BIT(DIGEST_SSDEEP);
	const struct digest_info *info = digest_find(value);

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

static int set_limit(struct options *o, const char *value)
{
	uint64_t n;

	if (parse_number(value, 1000000, &n))
		return -EINVAL;
	o->limit = n;
	return 0;
}

static int set_min_size(struct options *o, const char *value)
{
	return parse_size(value, &o->min_size);
}

static int set_max_size(struct options *o, const char *value)
{
	return parse_size(value, &o->max_size);
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

static int set_ac_only(struct options *o, const char *value)
{
	(void)value;
	o->ac_only = true;
	return 0;
}

static int set_max_threads(struct options *o, const char *value)
{
	uint64_t n;

	if (parse_number(value, 10000, &n) || n == 0)
		return -EINVAL;
	o->max_threads = (unsigned)n;
	return 0;
}

static int set_db(struct options *o, const char *value)
{
	return *value ? replace_text(&o->db, value) : -EINVAL;
}

static int set_timeout(struct options *o, const char *value)
{
	char *end;
	double n;

	if (*value < '0' || *value > '9')
		return -EINVAL;
	n = strtod(value, &end);
	if (*end || !isfinite(n) || n > TIMEOUT_MAX)
		return -EINVAL;
	o->timeout_s = n;
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

static int set_clone_fd(struct options *o, const char *value)
{
	(void)value;
	o->clone_fd = true;
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

struct option {
	const char *name; /* with '=' when it has a value */
	const char *wants;
	int (*set)(struct options *o, const char *value);
};

static const struct option ours[] = {
	{ "digests=", "names of digests separated by ':'", set_digests },
	{ "xattrs=", "list, hide or strict", set_xattrs },
	{ "similar=", "hide, show or off", set_similar },
	{ "similar_name=", "a file name", set_similar_name },
	{ "measure=", "best, sise, simhash, rdc, sif or ssdeep", set_measure },
	{ "threshold=", "a number from 1 to 100", set_threshold },
	{ "limit=", "a number", set_limit },
	{ "min_size=", "a size such as 4096 or 16K", set_min_size },
	{ "max_size=", "a size such as 500M or 2G", set_max_size },
	{ "exclude=", "a pattern", set_exclude },
	{ "cross", NULL, set_cross },
	{ "wait=", "a number of seconds", set_wait },
	{ "workers=", "a number from 0 to 1024", set_workers },
	{ "rate=", "a number of megabytes a second", set_rate },
	{ "ac_only", NULL, set_ac_only },
	{ "db=", "a directory", set_db },
	{ "timeout=", "a number of seconds", set_timeout },
	{ "passthrough=", "auto or no", set_passthrough },
	{ "max_threads=", "a number from 1 to 10000", set_max_threads },
	{ "clone_fd", NULL, set_clone_fd },
	{ "sandbox=", "yes or no", set_sandbox },
};

/* Matches "name=..." by its start, "name" as a whole. */
static bool option_is(const char *arg, const char *name)
{
	size_t len = strlen(name);

	if (name[len - 1] == '=')
		return strncmp(arg, name, len) == 0;
	return strcmp(arg, name) == 0;
}

static int apply(struct options *o, const struct option *option,
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

/* ---- those of mount(8) and libfuse ---- */

static const char *const passed_on[] = {
	"rw",         "ro",          "suid",         "nosuid",
	"dev",        "nodev",       "exec",         "noexec",
	"async",      "sync",        "atime",        "noatime",
	"dirsync",    "allow_other", "allow_root",   "auto_unmount",
	"blkdev",     "fsname=",     "subtype=",     "context=",
	"fscontext=", "defcontext=", "rootcontext=", "default_permissions",
};

/* They concern mount(8) and init systems, or are how FUSE is anyway. */
static const char *const ignored[] = {
	"defaults",
	"auto",
	"noauto",
	"user",
	"user=",
	"nouser",
	"users",
	"owner",
	"group",
	"_netdev",
	"nofail",
	"comment=",
	"relatime",
	"norelatime",
	"strictatime",
	"nostrictatime",
	"diratime",
	"nodiratime",
	"lazytime",
	"nolazytime",
	"iversion",
	"noiversion",
	"silent",
	"loud",
	"max_idle_threads=",
};

static bool is_in(const char *arg, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (option_is(arg, names[i]))
			return true;
	return false;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* 1: for libfuse, 0: done, -1: bad.  arg came after -o. */
static int take_option(struct options *o, const char *arg)
{
	for (size_t i = 0; i < COUNT(ours); i++)
		if (option_is(arg, ours[i].name))
			return apply(o, &ours[i], arg);
	if (strcmp(arg, "debug") == 0) {
		o->debug = true;
		return 0;
	}
	if (option_is(arg, "fsname="))
		o->fsname_given = true;
	if (is_in(arg, passed_on, COUNT(passed_on)))
		return 1;
	if (is_in(arg, ignored, COUNT(ignored)) || strncmp(arg, "x-", 2) == 0)
		return 0;
	log_line("option '%s': unknown; see 'kinfs -h'", arg);
	return -1;
}

static int take_switch(struct options *o, const char *arg)
{
	if (strcmp(arg, "-f") == 0)
		o->foreground = true;
	else if (strcmp(arg, "-d") == 0 || strcmp(arg, "--debug") == 0)
		o->debug = true;
	else if (strcmp(arg, "-s") == 0)
		o->single_thread = true;
	else if (strcmp(arg, "-h") == 0 || strcmp(arg, "--help") == 0)
		o->help = true;
	else if (strcmp(arg, "-V") == 0 || strcmp(arg, "--version") == 0)
		o->version = true;
	else {
		log_line("option '%s': unknown; see 'kinfs -h'", arg);
		return -1;
	}
	return 0;
}

static int take_operand(struct options *o, const char *arg)
{
	char **to = o->source ? &o->mountpoint : &o->source;

	if (o->mountpoint) {
		log_line("'%s': too many arguments; usage: "
			 "kinfs SOURCE MOUNTPOINT [-o OPTIONS]",
			 arg);
		return -1;
	}
	return replace_text(to, arg) ? -1 : 0;
}

static int take_argument(void *data, const char *arg, int key,
			 struct fuse_args *outargs)
{
	struct options *o = data;

	(void)outargs;
	if (key == FUSE_OPT_KEY_NONOPT)
		return take_operand(o, arg);
	return arg[0] == '-' ? take_switch(o, arg) : take_option(o, arg);
}

/* The options may come in any order.  What is to be scored is found by these
 * three; the others only compare. */
static int check_measure(const struct options *o)
{
	static const uint32_t finders = DIGEST_BIT(DIGEST_SIMHASH) |
					DIGEST_BIT(DIGEST_RDC) |
					DIGEST_BIT(DIGEST_SIF);

	if (o->measure == DIGEST_COUNT)
		return 0;
	if (!(o->digest_set & DIGEST_BIT(o->measure))) {
		log_line("option 'measure=%s': not among the digests of "
			 "'digests='",
			 digest_infos[o->measure].name);
		return -EINVAL;
	}
	if (!(o->digest_set & finders)) {
		log_line("option 'measure=%s': finds nothing unless 'digests=' "
			 "has sif, simhash or rdc",
			 digest_infos[o->measure].name);
		return -EINVAL;
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *out)
{
	static const struct fuse_opt none[] = { FUSE_OPT_END };
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	int r;

	memset(out, 0, sizeof(*out));
	out->digest_set = DIGEST_ALL;
	out->measure = DIGEST_COUNT;
	out->threshold = 60;
	out->limit = 256;
	out->wait_s = 60;
	out->timeout_s = 1.0;
	out->sandbox = true;
	if (replace_text(&out->similar_name, ".similar"))
		return -ENOMEM;
	r = fuse_opt_parse(&args, out, none, take_argument);
	if (args.allocated) {
		out->fuse_argc = args.argc;
		out->fuse_argv = args.argv;
	}
	if (r != 0)
		return -EINVAL;
	if (out->debug)
		out->foreground = true;
	return check_measure(out);
}

void options_release(struct options *options)
{
	struct fuse_args args = {
		.argc = options->fuse_argc,
		.argv = options->fuse_argv,
		.allocated = 1,
	};

	if (options->fuse_argv)
		fuse_opt_free_args(&args);
	for (size_t i = 0; i < options->exclude_count; i++)
		free(options->excludes[i]);
	free(options->excludes);
	free(options->source);
	free(options->mountpoint);
	free(options->similar_name);
	free(options->db);
	memset(options, 0, sizeof(*options));
}

void options_print_help(void)
{
	fputs("usage: kinfs SOURCE MOUNTPOINT [-o OPTION,...]\n"
	      "\n"
	      "Shows the directory SOURCE at MOUNTPOINT and knows which of its\n"
	      "files are alike.\n"
	      "\n"
	      "    -f  stay in the foreground\n"
	      "    -d  print every request, in the foreground\n"
	      "    -s  one thread only\n"
	      "    -h  this text\n"
	      "    -V  the version\n"
	      "\n"
	      "    -o digests=LIST       digests to keep, separated by ':'\n"
	      "    -o xattrs=MODE        list, hide or strict (list)\n"
	      "    -o similar=MODE       hide, show or off (hide)\n"
	      "    -o similar_name=NAME  instead of .similar\n"
	      "    -o measure=NAME       what scores a listing: best, sise,\n"
	      "                          simhash, rdc, sif, ssdeep (best)\n"
	      "    -o threshold=N        least score listed, 1..100 (60)\n"
	      "    -o limit=N            near-duplicates per file (256)\n"
	      "    -o min_size=SIZE      do not hash smaller files (0)\n"
	      "    -o max_size=SIZE      nor larger ones; 0: no limit (0)\n"
	      "    -o exclude=GLOB       nor these; may be repeated\n"
	      "    -o cross              hash other mounts below SOURCE too\n"
	      "    -o wait=SECONDS       for a digest that is not ready (60)\n"
	      "    -o workers=N          hashing threads; 0: per processor (0)\n"
	      "    -o rate=MB/S          read in the background; 0: no limit (0)\n"
	      "    -o ac_only            nothing in the background on battery\n"
	      "    -o db=DIR             where the catalog is kept\n"
	      "    -o timeout=SECONDS    attributes in the kernel's cache (1)\n"
	      "    -o passthrough=MODE   auto or no: see kinfs(8) (auto)\n"
	      "    -o max_threads=N      threads that serve requests (10)\n"
	      "    -o clone_fd           a device descriptor for each of them\n"
	      "    -o sandbox=yes|no     give up unneeded privileges (yes)\n"
	      "\n"
	      "and those of mount.fuse3(8): allow_other, ro, auto_unmount, ...\n"
	      "Unmount with: fusermount3 -u MOUNTPOINT\n",
	      stdout);
}
