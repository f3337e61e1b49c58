/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/options.h"

#include <errno.h>
#include <fuse_opt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/text.h"
#include "core/digest/digest.h"
#include "core/index/index.h"
#include "fs/fs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- values ---- */

/* An option of kinfs after -o: "name=value" or "name". */
struct option {
	const char *name;  /* with '=' when it has a value */
	const char *value; /* how the help shows it: alternatives, or a kind */
	const char *help;  /* the default in brackets */
	const char *wants; /* "the value must be" */
	bool common;       /* shown by kinfs -h; kinfs -o help shows all */
	int (*set)(struct options *o, const struct option *option,
		   const char *value);
	size_t field, size; /* where set stores the value */
	uint64_t least, most;
};

static int replace_text(char **to, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int store_number(struct options *o, const struct option *option,
			uint64_t n)
{
	char *field = (char *)o + option->field;

	if (n < option->least || n > option->most)
		return -EINVAL;
	if (option->size == sizeof(bool))
		*(bool *)field = n;
	else if (option->size == sizeof(uint32_t))
		*(uint32_t *)(void *)field = (uint32_t)n;
	else
		*(uint64_t *)(void *)field = n;
	return 0;
}

static int set_flag(struct options *o, const struct option *option,
		    const char *value)
{
	(void)value;
	return store_number(o, option, 1);
}

static int set_number(struct options *o, const struct option *option,
		      const char *value)
{
	unsigned long long n;
	char *end;

	if (*value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(value, &end, 10);
	return errno || *end ? -EINVAL : store_number(o, option, n);
}

static int set_size(struct options *o, const struct option *option,
		    const char *value)
{
	uint64_t n;
	int err = text_parse_size(value, &n);

	return err ? err : store_number(o, option, n);
}

/* Stores the position of value among the alternatives of the help. */
static int set_choice(struct options *o, const struct option *option,
		      const char *value)
{
	const char *at = option->value;
	size_t len = strlen(value), i;

	for (i = 0; *at; i++, at += strspn(at, "|")) {
		size_t one = strcspn(at, "|");

		if (one == len && !strncmp(at, value, len))
			return store_number(o, option, i);
		at += one;
	}
	return -EINVAL;
}

static int set_digests(struct options *o, const struct option *option,
		       const char *value)
{
	int err = *value ? digest_parse_set(value, &o->digest_set) : -EINVAL;

	(void)option;
	if (!err)
		o->kept_digests = o->digest_set & DIGEST_KEPT;
	return err;
}

static int set_similar_name(struct options *o, const struct option *option,
			    const char *value)
{
	(void)option;
	if (!*value || strlen(value) > NAME_MAX || strchr(value, '/') ||
	    strcmp(value, ".") == 0 || strcmp(value, "..") == 0)
		return -EINVAL;
	return replace_text(&o->similar_name, value);
}

static int set_exclude(struct options *o, const struct option *option,
		       const char *value)
{
	(void)option;
	return *value ? array_add_string(&o->excludes, &o->exclude_count,
					 strdup(value)) :
			-EINVAL;
}

static int set_db(struct options *o, const struct option *option,
		  const char *value)
{
	(void)option;
	return *value ? replace_text(&o->db, value) : -EINVAL;
}

static int set_timeout(struct options *o, const struct option *option,
		       const char *value)
{
	char *end;
	double n;

	(void)option;
	if (!*value || value[strspn(value, "0123456789.")])
		return -EINVAL;
	n = strtod(value, &end);
	if (*end || n > 1e6)
		return -EINVAL;
	o->timeout_s = n;
	o->timeout_given = true;
	return 0;
}

/* ---- the options of kinfs ---- */

#define FIELD(name) \
	offsetof(struct options, name), sizeof(((struct options *)NULL)->name)

/* A query with this limit takes a second and some 100 MB. */
enum { LIMIT_MAX = 65536 };

static const struct option ours[] = {
	{ "digests=", "LIST", "digests to keep, separated by ':'",
	  "names of digests separated by ':'", true, set_digests, 0, 0, 0, 0 },
	{ "xattrs=", "list|all|hide|strict", "which digests are listed (list)",
	  "list, all, hide or strict", false, set_choice, FIELD(xattrs), 0, 3 },
	{ "similar=", "hide|show|off", "whether / shows .similar (hide)",
	  "hide, show or off", false, set_choice, FIELD(similar), 0, 2 },
	{ "similar_name=", "NAME", "instead of .similar", "a file name", false,
	  set_similar_name, 0, 0, 0, 0 },
	{ "threshold=", "N", "least score that is listed, 1 to 100 (60)",
	  "a number from 1 to 100", true, set_number, FIELD(threshold), 1,
	  100 },
	{ "share_min=", "SIZE", "of a passage in .shares, from 2K (16K)",
	  "a size from 2K, such as 16K or 1M", false, set_size,
	  FIELD(share_min), INDEX_SHARE_LEAST, UINT64_MAX },
	{ "limit=", "N", "near-duplicates of a file (256)", "a number", true,
	  set_number, FIELD(limit), 0, LIMIT_MAX },
	{ "min_size=", "SIZE", "smaller files are not hashed (0)",
	  "a size such as 4096 or 16K", true, set_size, FIELD(min_size), 0,
	  UINT64_MAX },
	{ "max_size=", "SIZE", "larger files are not hashed; 0: no limit (0)",
	  "a size such as 500M or 2G", true, set_size, FIELD(max_size), 0,
	  UINT64_MAX },
	{ "exclude=", "GLOB", "nor are these; may be repeated", "a pattern",
	  true, set_exclude, 0, 0, 0, 0 },
	{ "cross", NULL, "hash other filesystems below SOURCE, too", NULL,
	  false, set_flag, FIELD(cross), 1, 1 },
	{ "wait=", "SECONDS", "for a digest that is not ready (60)",
	  "a number of seconds", true, set_number, FIELD(wait_s), 0, 1000000 },
	{ "workers=", "N", "hashing threads; 0: one per processor (0)",
	  "a number from 0 to 1024", false, set_number, FIELD(workers), 0,
	  1024 },
	{ "rate=", "MB/S", "reading in the background; 0: no limit (0)",
	  "a number of megabytes a second", true, set_number, FIELD(rate_mb), 0,
	  1000000 },
	{ "db=", "DIR", "where the catalog is kept", "a directory", true,
	  set_db, 0, 0, 0, 0 },
	{ "timeout=", "SECONDS", "attributes in the kernel's cache",
	  "a number of seconds", false, set_timeout, 0, 0, 0, 0 },
	{ "text=", "yes|no", "documents are alike by their texts (yes)",
	  "yes or no", false, set_choice, FIELD(no_text), 0, 1 },
	{ "pictures=", "yes|no", "pictures are alike by what they show (yes)",
	  "yes or no", false, set_choice, FIELD(no_pictures), 0, 1 },
	{ "watch=", "yes|no", "changes behind the mount are told (yes)",
	  "yes or no", false, set_choice, FIELD(no_watch), 0, 1 },
	{ "passthrough=", "auto|no", "reads and writes by the kernel (auto)",
	  "auto or no", false, set_choice, FIELD(no_passthrough), 0, 1 },
	{ "sandbox=", "yes|no", "give up unneeded privileges (yes)",
	  "yes or no", false, set_choice, FIELD(no_sandbox), 0, 1 },
};

static void print_ours(bool all)
{
	enum { COLUMN = 24 }; /* where the help of an option begins */
	const struct option *option;
	size_t i;
	int width;

	for (i = 0; i < COUNT(ours); i++) {
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

/* Whether arg is that option.  If name ends in '=', arg may have any value. */
static bool option_is(const char *arg, const char *name)
{
	size_t len = strlen(name);

	if (name[len - 1] == '=')
		return strncmp(arg, name, len) == 0;
	return strcmp(arg, name) == 0;
}

/* 0: set; -1: the value is not valid, which was reported; 1: unknown. */
static int set_ours(struct options *o, const char *arg)
{
	const struct option *option = ours, *end = ours + COUNT(ours);
	int err;

	while (option < end && !option_is(arg, option->name))
		option++;
	if (option == end)
		return 1;
	err = option->set(o, option, arg + strlen(option->name));
	if (err == -ENOMEM)
		log_line("option '%s': out of memory", arg);
	else if (err)
		log_line("option '%s': the value must be %s", arg,
			 option->wants);
	return err ? -1 : 0;
}

/* ---- options of mount(8) and libfuse ---- */

static const char *const passed_on[] = {
	"rw",         "ro",          "suid",         "nosuid",
	"dev",        "nodev",       "exec",         "noexec",
	"async",      "sync",        "atime",        "noatime",
	"dirsync",    "allow_other", "allow_root",   "auto_unmount",
	"blkdev",     "fsname=",     "subtype=",     "context=",
	"fscontext=", "defcontext=", "rootcontext=", "default_permissions",
};

/* Options for mount(8) and init systems, and some that FUSE has anyway. */
static const char *const ignored[] = { "defaults",
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
				       "max_idle_threads=" };

static bool is_in(const char *arg, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (option_is(arg, names[i]))
			return true;
	return false;
}

/* Reports that arg is unknown, and suggests the most similar option. */
static void complain_unknown(const char *arg)
{
	const char *wants = NULL;
	struct text_guess g;
	size_t i, len = strlen(arg);

	text_guess_begin(&g, arg, strcspn(arg, "="));
	for (i = 0; i < COUNT(ours); i++) {
		const char *name = ours[i].name;

		text_guess_offer(&g, name, strcspn(name, "="));
		if (ours[i].value && strlen(name) == len + 1 &&
		    strncmp(name, arg, len) == 0)
			wants = ours[i].wants;
	}
	for (i = 0; i < COUNT(passed_on); i++)
		text_guess_offer(&g, passed_on[i], strcspn(passed_on[i], "="));
	if (wants)
		log_line("option '%s': a value is missing; it must be %s", arg,
			 wants);
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

/* ---- the command line ---- */

/* arg came after -o.  1: it is for libfuse, 0: taken, -1: not valid. */
static int take_option(struct options *o, const char *arg)
{
	int result = set_ours(o, arg);

	if (result != 1)
		return result;
	if (strcmp(arg, "help") == 0) {
		o->help = o->help_all = true;
		return 0;
	}
	if (strcmp(arg, "debug") == 0) {
		o->debug = true;
		return 0;
	}
	if (strcmp(arg, "nonempty") == 0) {
		o->nonempty = true;
		return 0;
	}
	if (option_is(arg, "fsname="))
		o->fsname_given = true;
	if (strcmp(arg, "allow_other") == 0)
		o->allow_other = true;
	if (is_in(arg, passed_on, COUNT(passed_on)))
		return 1;
	if (strcmp(arg, "remount") == 0) {
		log_line("option 'remount': a mount keeps its options; unmount "
			 "it and mount it again");
		return -1;
	}
	if (is_in(arg, ignored, COUNT(ignored)) || strncmp(arg, "x-", 2) == 0)
		return 0;
	complain_unknown(arg);
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
	else if (strncmp(arg, "--", 2) == 0 && arg[2]) {
		complain_unknown(arg + 2);
		return -1;
	} else {
		log_line("option '%s': unknown; see 'kinfs -h'", arg);
		return -1;
	}
	return 0;
}

static int take_argument(void *data, const char *arg, int key,
			 struct fuse_args *outargs)
{
	struct options *o = data;

	(void)outargs;
	if (key != FUSE_OPT_KEY_NONOPT)
		return arg[0] == '-' ? take_switch(o, arg) :
				       take_option(o, arg);
	if (o->mountpoint) {
		log_line("'%s': too many arguments; usage: "
			 "kinfs SOURCE MOUNTPOINT [-o OPTIONS]",
			 arg);
		return -1;
	}
	return replace_text(o->source ? &o->mountpoint : &o->source, arg) ? -1 :
									    0;
}

int options_parse(int argc, char **argv, struct options *out)
{
	static const struct fuse_opt none[] = { FUSE_OPT_END };
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	int r;

	memset(out, 0, sizeof(*out));
	out->digest_set = DIGEST_ALL;
	out->kept_digests = DIGEST_DEFAULT;
	out->threshold = 60;
	out->share_min = INDEX_SHARE_MIN;
	out->limit = 256;
	out->wait_s = 60;
	out->timeout_s = 1.0;
	if (replace_text(&out->similar_name, ".similar"))
		return -ENOMEM;
	if (argc > 1 && strcmp(argv[argc - 1], "-o") == 0) {
		log_line(
			"option '-o': a value is missing; see 'kinfs -o help'");
		return -EINVAL;
	}
	r = fuse_opt_parse(&args, out, none, take_argument);
	if (args.allocated) {
		out->fuse_argc = args.argc;
		out->fuse_argv = args.argv;
	}
	if (r != 0)
		return -EINVAL;
	if (out->debug)
		out->foreground = true;
	return 0;
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
		free((char *)(uintptr_t)options->excludes[i]);
	free(options->excludes);
	free(options->source);
	free(options->mountpoint);
	free(options->similar_name);
	free(options->db);
	memset(options, 0, sizeof(*options));
}

void options_print_help(bool all)
{
	fputs("usage: kinfs SOURCE MOUNTPOINT [-o OPTION,...]\n"
	      "\n"
	      "Shows the directory SOURCE at MOUNTPOINT and knows which of its files are\n"
	      "alike.\n"
	      "\n"
	      "  -f  stay in the foreground      -h  this text\n"
	      "  -d  print every request, too    -V  the version\n"
	      "  -s  one thread only             -o help  all options\n"
	      "\n",
	      stdout);
	print_ours(all);
	fputs("  -o allow_other, -o ro, -o auto_unmount and others of mount.fuse3(8)\n"
	      "\n"
	      "Then try getfattr -d FILE, ls MOUNTPOINT/.similar/FILE/ and kin similar FILE.\n"
	      "Unmount with fusermount3 -u MOUNTPOINT.  kinfs(8) tells more.\n",
	      stdout);
}
