/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/groups/groups.h"
#include "core/act/export/export.h"
#include "core/source/file.h"

/*
 * kin seed: for each file that another machine is to send, the file here that
 * has most in common with it, as a hard link at the path of the one that is to
 * come.  So a program that computes differences by name, as rsync does, has a
 * base for each.
 */
struct seed_command {
	struct export_source sender, here;
	const char *into; /* NULL: the map is printed */
	const char *base_of;
	bool reflink;
	struct table table;

	struct seeds seeds;
	char *source; /* of the mount: owned */
	int source_fd, into_fd;
	uint64_t files, equal, near, none, refused;
};

/* ---- seeds as files ---- */

/* Makes the directories of a path in the new tree, which nobody else writes to:
 * so no component of it is a symbolic link. */
static int make_directories(const struct seed_command *c, const char *path)
{
	const char *slash = path;
	char *name;
	int err = 0;

	while (!err && (slash = strchr(slash, '/'))) {
		name = strndup(path, (size_t)(slash++ - path));
		if (!name ||
		    (mkdirat(c->into_fd, name, 0777) && errno != EEXIST))
			err = -errno;
		free(name);
	}
	return err;
}

static int clone_file(int from, int directory, const char *name)
{
	int in = file_reopen(from), out, err = 0;

	if (in < 0)
		return in;
	out = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		     0600);
	if (out < 0 || ioctl(out, FICLONE, in))
		err = -errno;
	if (out >= 0)
		close(out);
	if (err && out >= 0)
		(void)unlinkat(directory, name, 0);
	close(in);
	return err;
}

/* A hard link to the base, or a copy that shares blocks, at a path of another
 * machine, which must stay below the directory. */
static int make_seed(const struct seed_command *c, const char *path,
		     const struct found_file *base)
{
	struct stat st;
	int from, err;

	if (!text_is_plain_path(path))
		return -EINVAL;
	from = file_open_beneath(c->source_fd, base->names[0], O_PATH);
	if (from < 0)
		return from;
	/* The file may be another one by now. */
	err = fstat(from, &st) || !S_ISREG(st.st_mode) ?
		      -ENOENT :
		      make_directories(c, path);
	if (!err)
		err = (c->reflink ? clone_file : file_link)(from, c->into_fd,
							    path);
	close(from);
	return err;
}

/* ---- one file that is to come ---- */

static const struct column columns[] = {
	{ "score", "SCORE", COLUMN_NUMBER, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ "base", "BASE", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

static int print_base_of(struct seed_command *c, const char *path,
			 const struct seed_base *base)
{
	json_t *row = json_pack("{s:i}", "score", base->score);

	if (!json_set_path(row, "path", path) &&
	    !json_set_path(row, "base", base->file->names[0]))
		return table_row(&c->table, row);
	json_decref(row);
	return -ENOMEM;
}

/* A base that is gone or unreadable meanwhile is none.  What would be so for
 * all files ends the command: 1 after a message. */
static int take_file(struct seed_command *c, const struct seed_content *wanted,
		     const struct found_file *file)
{
	struct seed_base base;
	int err;

	c->files++;
	if (!seeds_find(&c->seeds, wanted, file->names[0], file->mtime_ns,
			&base)) {
		c->none++;
		return 0;
	}
	err = c->into ? make_seed(c, file->names[0], base.file) :
			print_base_of(c, file->names[0], &base);
	if (err == -EXDEV)
		return cli_complain(
			c->into,
			"not on the filesystem of '%s': hard links need "
			"that, choose another directory",
			c->source);
	if (c->reflink && (err == -EOPNOTSUPP || err == -ENOTTY))
		return cli_complain(c->into,
				    "the filesystem shares no blocks; leave "
				    "out --reflink");
	if (err == -ENOSPC || err == -EROFS || err == -EDQUOT)
		return cli_complain_errno(c->into, err);
	++*(err < 0 ? &c->refused : base.score == 100 ? &c->equal : &c->near);
	return err > 0;
}

static int take_all(struct seed_command *c, struct export_reader *r)
{
	struct seed_content wanted;
	const struct found_member *m;
	size_t i;
	int err;

	while ((err = export_next(r)) == 1) {
		m = export_member(r);
		err = seed_content_of(&r->digests, &wanted);
		for (i = 0; i < m->file_count && !err; i++)
			err = take_file(c, &wanted, &m->files[i]);
		if (err)
			return err;
	}
	return err;
}

/* ---- the base of one file ---- */

static int print_base(struct seed_command *c)
{
	struct seed_content wanted;
	struct seed_base base = { 0 };
	struct digests d = { 0 };
	struct reader reader = { 0 };
	int err, code = reader_init(&reader, DIGEST_DEFAULT);

	if (code)
		return code;
	err = reader_digest_named(&reader, c->base_of, false, &d);
	if (!err)
		err = seed_content_of(&d, &wanted);
	if (!err)
		/* No program takes the base for the file itself. */
		(void)seeds_find(&c->seeds, &wanted, cli_base_name(c->base_of),
				 INT64_MIN, &base);
	digests_release(&d);
	reader_release(&reader);
	if (err)
		return cli_complain_errno(c->base_of, err);
	if (!base.file)
		return EXIT_FAILED;
	printf("%s/%s%c", c->here.path, base.file->names[0],
	       c->table.output.nul ? '\0' : '\n');
	return EXIT_OK;
}

/* ---- all of it ---- */

/* The tree that the links are made from is that below the mount, because a link
 * cannot lead from one filesystem into another. */
static int make_into(struct seed_command *c)
{
	if (!c->here.mount.root)
		return cli_complain_errno(c->here.path, -ENODEV);
	c->source = mount_get_place(&c->here.mount, NULL, "source");
	if (!c->source)
		return cli_complain(
			c->here.path,
			"the mount of another user: its files are not "
			"linked; --json prints the bases");
	c->source_fd = open(c->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->source_fd < 0)
		return cli_complain_errno(c->source, -errno);
	if (!mkdir(c->into, 0700))
		c->into_fd = open(c->into, O_PATH | O_DIRECTORY | O_NOFOLLOW |
						   O_CLOEXEC);
	if (c->into_fd >= 0)
		return EXIT_OK;
	if (errno == EEXIST)
		return cli_complain(c->into,
				    "is there already; it must be new, as "
				    "what is in it would be sent wrongly");
	return cli_complain_errno(c->into, -errno);
}

/* A word for bash; what another machine wrote has no power over a terminal. */
static void print_word(const char *text)
{
	const char *c;

	if (text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
			      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			      "/._-+")] == '\0') {
		fputs(text, stdout);
		return;
	}
	fputs("$'", stdout);
	for (c = text; *c; c++) {
		if (*c < ' ' || *c > '~' || *c == '\'' || *c == '\\')
			printf("\\%03o", (unsigned char)*c);
		else
			putchar(*c);
	}
	putchar('\'');
}

static void print_totals(const struct seed_command *c, const char *root)
{
	char *into = c->into ? realpath(c->into, NULL) : NULL;

	fprintf(stderr,
		"%llu %s to come: an equal content here for %llu, a base for "
		"%llu, none for %llu\n",
		(unsigned long long)c->files,
		text_plural(c->files, "file", "files"),
		(unsigned long long)c->equal, (unsigned long long)c->near,
		(unsigned long long)(c->none + c->refused));
	if (c->refused)
		fprintf(stderr,
			"%llu bases could not be linked (gone, or not to be "
			"linked by you)\n",
			(unsigned long long)c->refused);
	if (into) {
		/* -I: a base of the same size and time is not the file. */
		printf("rsync -aIz --no-whole-file --copy-dest=");
		print_word(into);
		printf(" HOST:");
		print_word(root ? root : "SOURCE");
		printf("/ DESTINATION/\n");
	}
	free(into);
}

static int match(struct seed_command *c)
{
	struct export_reader r;
	bool complete;
	int err = export_open(&r, &c->sender), code = EXIT_OK;

	if (!err)
		err = take_all(c, &r);
	complete = r.is_complete;
	if (err)
		code = err > 0 ? EXIT_FAILED : export_complain(&r, err);
	else
		print_totals(c, r.content.root);
	export_close(&r);
	if (!code && c->table.output.json)
		code = table_totals(
			json_pack("{s:I}", "files", (json_int_t)c->files),
			complete, NULL);
	if (code || complete)
		return code;
	return cli_complain_incomplete(c->sender.path);
}

static int read_here(struct seed_command *c)
{
	struct export_reader r;
	int err = export_open(&r, &c->here), code = EXIT_OK;

	if (!err)
		err = seeds_read(&c->seeds, &r);
	if (err)
		code = export_complain(&r, err);
	export_close(&r);
	return code;
}

static int check(struct seed_command *c, char **paths)
{
	const int count = operand_count(paths);
	const struct output *output = &c->table.output;

	if (c->into && (c->base_of || output->json || output->nul))
		return cli_usage_error(&command_seed,
				       "--into prints the command for rsync "
				       "alone");
	if ((c->base_of && output->json) || (c->reflink && !c->into))
		return cli_usage_error(&command_seed,
				       "--base takes no --json, and --reflink "
				       "is for --into");
	if (count != (c->base_of ? 1 : 2))
		return cli_usage_error(&command_seed,
				       "which file of kin export --seeds, or "
				       "--base, and which mount?");
	c->sender.path = paths[0];
	c->here.path = paths[count - 1];
	return EXIT_OK;
}

static struct seed_command seed_job = { .source_fd = -1,
					.into_fd = -1,
					.table.columns = columns };

static int run(const struct command *self, char **paths)
{
	struct seed_command *c = self->job;
	int code = check(c, paths);

	if (!code && !c->base_of)
		code = export_source_find(&c->sender);
	if (!code)
		code = export_source_find(&c->here);
	if (!code)
		code = read_here(c);
	if (!code && c->into)
		code = make_into(c);
	if (!code)
		code = c->base_of ? print_base(c) : match(c);
	return code;
}

static const struct option_row options[] = {
	{ "into", 0, "DIR",
	  "make a tree of the bases there, at the paths of the files to come",
	  OPTION_TEXT(struct seed_command, into) },
	{ "reflink", 0, NULL, "copies that share blocks, no hard links",
	  OPTION_FLAG(struct seed_command, reflink) },
	{ "base", 0, "FILE", "print the best base of one file",
	  OPTION_TEXT(struct seed_command, base_of) },
	{ "json", 0, NULL, "an object a line: path, base, score",
	  OPTION_FLAG(struct seed_command, table.output.json) },
	{ "null", '0', NULL, "path and base, each ended by NUL",
	  OPTION_FLAG(struct seed_command, table.output.nul) },
	{ 0 },
};

const struct command command_seed = {
	.name = "seed",
	.synopsis = "seed [--into DIR [--reflink]|--json|-0] FILE MOUNT\n"
		    "       kin seed --base FILE [-0] MOUNT",
	.summary = "Find bases here for files that another machine sends",
	.help = "FILE is what kin export --seeds wrote on the other machine.  "
		"The best base of a\n"
		"file has the same content, else most in common with it.  DIR "
		"must be new; the\n"
		"rsync command that uses it is printed.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed, or --base found none; 2 usage; "
		 "3 one of the trees\n"
		 "was not hashed completely.\n",
	.job = &seed_job,
	.run = run,
};
