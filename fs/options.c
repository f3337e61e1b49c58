/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/options.h"

#include <errno.h>
#include <fuse_opt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/digest/digest.h"
#include "core/index/index.h"
#include "fs/log.h"
#include "fs/option.h"

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

/* arg came after -o.  1: it is for libfuse, 0: taken, -1: not valid. */
static int take_option(struct options *o, const char *arg)
{
	int result = option_set(o, arg);

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
	option_complain_unknown(arg, passed_on, COUNT(passed_on));
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
		option_complain_unknown(arg + 2, passed_on, COUNT(passed_on));
		return -1;
	} else {
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
	return option_replace(to, arg) ? -1 : 0;
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

/* Checked at the end, as options may come in any order.  SimHash and traits find
 * candidates by themselves; what the others compare is found by the sketch. */
static int check_measure(const struct options *o)
{
	const bool finds =
		o->measure == DIGEST_SIMHASH || o->measure == DIGEST_RDC;

	if (o->measure == DIGEST_COUNT)
		return 0;
	if (!(o->digest_set & DIGEST_BIT(o->measure))) {
		log_line("option 'measure=%s': not among the digests of "
			 "'digests='",
			 digest_table[o->measure]->name);
		return -EINVAL;
	}
	if (!finds && !(o->digest_set & DIGEST_BIT(DIGEST_SIF))) {
		log_line("option 'measure=%s': finds nothing unless 'digests=' "
			 "has sif",
			 digest_table[o->measure]->name);
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
	out->kept_digests = DIGEST_DEFAULT;
	out->measure = DIGEST_COUNT;
	out->threshold = 60;
	out->share_min = INDEX_SHARE_MIN;
	out->limit = 256;
	out->wait_s = 60;
	out->timeout_s = 1.0;
	out->watch = true;
	out->sandbox = true;
	if (option_replace(&out->similar_name, ".similar"))
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
	option_print_help(all);
	fputs("  -o allow_other, -o ro, -o auto_unmount and others of mount.fuse3(8)\n"
	      "\n"
	      "Then try getfattr -d FILE, ls MOUNTPOINT/.similar/FILE/ and kin similar FILE.\n"
	      "Unmount with fusermount3 -u MOUNTPOINT.  kinfs(8) tells more.\n",
	      stdout);
}
