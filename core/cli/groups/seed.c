/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cli/groups/groups.h"
#include "core/client/question.h"
#include "core/source/file.h"

/*
 * kin seed: for each file that another machine is to send, the file here that
 * has most in common with it, as a hard link at the path of the one that is to
 * come.  So a program that computes differences by name, as rsync does, has a
 * base for each.
 */
struct seed_base {
	const char *path, *base; /* owned in a list of them */
	uint64_t size;           /* of the file that is to come */
	int score;
};

struct seed_command {
	struct export_reader sender;
	struct mount here;
	const char *into; /* NULL: the map is printed */
	const char *base_of;
	bool reflink, incomplete;
	struct table table;

	/* All are found before the first is linked, as a link changes the base's
	 * time, and so its file's state in the mount. */
	struct seed_base *bases;
	size_t base_count;
	char *source; /* of the mount: owned */
	int source_fd, into_fd;
	uint64_t files, equal, near, refused, useless;
	uint64_t sums; /* bytes: see sums_of() */
};

/* ---- the question ---- */

/* The best base for a file with these digests that is to come at a path: 1, and
 * *out has it, to be closed; 0: there is none.  Only the bytes count. */
static int find_base(struct seed_command *c, const struct digests *d,
		     const char *path, struct answer *out)
{
	struct question question = {
		.kind = QUESTION_BASE,
		.digests = *d,
		.with = text_is_plain_path(path) ? path : NULL,
	};
	int found;

	question.digests.text.bytes = NULL;
	found = question_ask_one(out, &c->here, &question);
	c->incomplete |= found >= 0 && !out->complete;
	return found;
}

/* ---- seeds as files ---- */

/* Makes the directories of a path in the new tree, which nobody else writes to:
 * so no component of it is a symbolic link. */
static int make_directories(const struct seed_command *c, const char *path)
{
	char *name = strdup(path), *slash = name;
	int err = name ? 0 : -ENOMEM;

	while (!err && (slash = strchr(slash, '/'))) {
		*slash = '\0';
		if (mkdirat(c->into_fd, name, 0777) && errno != EEXIST)
			err = -errno;
		*slash++ = '/';
	}
	free(name);
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

/* ---- what a base costs ---- */

/*
 * The receiver of rsync sends a sum of each block of a base, 6 bytes and more,
 * and finds again what is equal to a whole block.  Blocks are as long as the
 * square root of the base, and 700 bytes at least.
 */
enum { BLOCK_LEAST = 700, BLOCK_SUM = 6, FILE_SUM = 20 };

static uint64_t sums_of(uint64_t size)
{
	uint64_t block = BLOCK_LEAST;

	while (block * block < size)
		block += BLOCK_LEAST;
	return FILE_SUM + (size + block - 1) / block * BLOCK_SUM;
}

/* Whether the sums are more than all that the base has of a file of a size,
 * which would be sent compressed to a third otherwise. */
static bool costs_more(const struct seed_base *b, uint64_t base_size)
{
	const uint64_t larger = base_size > b->size ? base_size : b->size;

	return sums_of(base_size) >= larger / 100 * (uint64_t)b->score / 3;
}

/* A hard link to the base, or a copy that shares blocks, at a path of another
 * machine, which must stay below the directory.  1: it would cost more. */
static int make_seed(struct seed_command *c, const struct seed_base *b)
{
	struct stat st;
	int from, err = 0;

	if (!text_is_plain_path(b->path))
		return -EINVAL;
	from = file_open_beneath(c->source_fd, b->base, O_PATH);
	if (from < 0)
		return from;
	/* The file may be another one by now. */
	if (fstat(from, &st) || !S_ISREG(st.st_mode))
		err = -ENOENT;
	else if (b->score < 100 && costs_more(b, (uint64_t)st.st_size))
		err = 1;
	if (!err)
		err = make_directories(c, b->path);
	if (!err && c->reflink)
		err = clone_file(from, c->into_fd, b->path);
	else if (!err)
		err = file_link(from, c->into_fd, b->path);
	if (!err && b->score < 100)
		c->sums += sums_of((uint64_t)st.st_size);
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

static int print_base_of(struct seed_command *c, const struct seed_base *b)
{
	json_t *row = json_pack("{s:i}", "score", b->score);

	row = json_with_path(row, "path", b->path);
	return table_row(&c->table, json_with_path(row, "base", b->base));
}

/* An error that every file would have ends the command. */
static int explain(const struct seed_command *c, int err)
{
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
	return 0;
}

static int keep_base(struct seed_command *c, const struct seed_base *b)
{
	struct seed_base *all =
		array_with_room(c->bases, c->base_count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	c->bases = all;
	all += c->base_count++;
	*all = *b;
	all->path = strdup(b->path);
	all->base = strdup(b->base);
	return all->path && all->base ? 0 : -ENOMEM;
}

static int take_file(struct seed_command *c, const struct found_file *file)
{
	const struct digests *d = &c->sender.digests;
	struct answer a;
	int err = find_base(c, d, file->names[0], &a);
	struct seed_base b = { .path = file->names[0],
			       .base = a.path,
			       .size = d->size,
			       .score = a.verdict.score };

	c->files++;
	if (err > 0)
		err = keep_base(c, &b);
	answer_close(&a);
	return err;
}

/* A base that is gone or unreadable meanwhile is none. */
static int take_bases(struct seed_command *c)
{
	const struct seed_base *b = c->bases;
	int made, code = 0;

	for (; b < c->bases + c->base_count && !code; b++) {
		made = c->into ? make_seed(c, b) : 0;
		if (!c->into)
			code = print_base_of(c, b);
		else if (made < 0)
			code = explain(c, made);
		c->refused += made < 0;
		c->useless += made > 0;
		c->equal += !made && b->score == 100;
		c->near += !made && b->score < 100;
	}
	return code;
}

/* ---- the base of one file ---- */

static int print_base(struct seed_command *c)
{
	struct answer base = { .path = NULL };
	struct digests d = { 0 };
	struct reader reader;
	int err = reader_init(&reader, DIGEST_DEFAULT);

	if (!err)
		err = reader_digest_named(&reader, c->base_of, false, &d);
	if (!err)
		err = find_base(c, &d, basename(c->base_of), &base);
	digests_release(&d);
	reader_release(&reader);
	if (err > 0)
		printf("%s/%s%c", c->here.root, base.path,
		       c->table.output.nul ? '\0' : '\n');
	answer_close(&base);
	if (err < 0)
		return cli_complain_errno(c->base_of, err);
	return err ? EXIT_OK : EXIT_FAILED;
}

/* ---- all of it ---- */

/* The tree that the links are made from is that below the mount, because a link
 * cannot lead from one filesystem into another. */
static int make_into(struct seed_command *c)
{
	c->source = mount_get_place(&c->here, NULL, "source");
	if (!c->source)
		return cli_complain(
			c->here.root,
			"the mount of another user: its files are not "
			"linked; --json prints the bases");
	c->source_fd = open(c->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (c->source_fd < 0)
		return cli_complain_errno(c->source, -errno);
	if (mkdir(c->into, 0700))
		return errno != EEXIST ?
			       cli_complain_errno(c->into, -errno) :
			       cli_complain(c->into,
					    "is there already; it must be new, "
					    "as what is in it would be sent "
					    "wrongly");
	c->into_fd =
		open(c->into, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return c->into_fd < 0 ? cli_complain_errno(c->into, -errno) : EXIT_OK;
}

/* A word for bash; what another machine wrote has no power over a terminal. */
static void print_word(const char *text)
{
	const bool is_plain =
		!text[strspn(text, "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "/._-+")];

	fputs(is_plain ? "" : "$'", stdout);
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '\'' ||
		    *text == '\\')
			printf("\\%03o", (unsigned char)*text);
		else
			putchar(*text);
	fputs(is_plain ? "" : "'", stdout);
}

static int print_totals(const struct seed_command *c)
{
	const char *root = c->sender.content.root;
	char *into = c->into ? realpath(c->into, NULL) : NULL;
	char sums[TEXT_SIZE_ROOM];

	fprintf(stderr,
		"%llu %s to come: an equal content here for %llu, a base for "
		"%llu, none for %llu\n",
		(unsigned long long)c->files,
		text_plural(c->files, "file", "files"),
		(unsigned long long)c->equal, (unsigned long long)c->near,
		(unsigned long long)(c->files - c->equal - c->near));
	if (c->refused)
		fprintf(stderr,
			"%llu bases could not be linked (gone, or not to be "
			"linked by you)\n",
			(unsigned long long)c->refused);
	if (c->useless)
		fprintf(stderr,
			"%llu bases were left out: rsync would send more for "
			"each than it could save\n",
			(unsigned long long)c->useless);
	if (into && c->near)
		fprintf(stderr,
			"the sums of the blocks of those that are not equal "
			"cost %s; a base saves\nnothing but blocks that are "
			"equal as a whole, of 700 bytes and more\n",
			text_format_size((double)c->sums, TEXT_UNITS_FULL,
					 sums));
	if (into) {
		/* -I: a base of the same size and time is not the file. */
		printf("rsync -aIz --no-whole-file --copy-dest=");
		print_word(into);
		printf(" HOST:");
		print_word(root ? root : "SOURCE");
		printf("/ DESTINATION/\n");
	}
	free(into);
	return !c->table.output.json ?
		       EXIT_OK :
		       table_totals(json_pack("{s:I}", "files",
					      (json_int_t)c->files),
				    c->sender.is_complete && !c->incomplete,
				    NULL);
}

static int match(struct seed_command *c)
{
	const struct found_member *m;
	size_t i;
	int code = 0;

	while (!code && export_next(&c->sender)) {
		m = export_member(&c->sender);
		for (i = 0; i < m->file_count && !code; i++)
			code = take_file(c, &m->files[i]);
	}
	if (!code)
		code = export_complain(&c->sender);
	if (!code)
		code = take_bases(c);
	if (!code)
		code = print_totals(c);
	if (!code && !c->sender.is_complete)
		code = cli_complain_incomplete(
			c->sender.path, c->sender.content.totals.failed,
			c->sender.content.totals.failed_texts);
	if (!code && c->incomplete)
		code = cli_complain_incomplete(c->here.root, 0, 0);
	return code;
}

static struct seed_command seed_job = { .table.columns = columns };

static int run(const struct command *self, char **paths)
{
	struct seed_command *c = self->job;
	int code = EXIT_OK;

	if (operand_count(paths) != (c->base_of ? 1 : 2))
		return cli_usage_error(self,
				       "which file of kin export --seeds, or "
				       "--base, and which mount?");
	if (!c->base_of)
		export_open(&c->sender, *paths++);
	code = export_complain(&c->sender);
	if (!code)
		code = once_mount(*paths, false);
	if (!code)
		code = mount_find(*paths, &c->here);
	if (code < 0)
		return cli_complain_errno(*paths, code);
	if (!code)
		code = mount_listings_or_complain(&c->here);
	if (!code && c->into)
		code = make_into(c);
	if (!code)
		code = c->base_of ? print_base(c) : match(c);
	return code;
}

static const struct option_row options[] = {
	{ "into", 0, "DIR",
	  "make a tree of the bases there, at the paths of the files to come",
	  OPTION_TEXT(struct seed_command, into),
	  .excludes = "base json null" },
	{ "reflink", 0, NULL, "copies that share blocks, no hard links",
	  OPTION_FLAG(struct seed_command, reflink), .needs = "into" },
	{ "base", 0, "FILE", "print the best base of one file",
	  OPTION_TEXT(struct seed_command, base_of), .excludes = "json" },
	{ "json", 0, NULL, "an object a line: path, base, score",
	  OPTION_FLAG(struct seed_command, table.output.json),
	  .excludes = "null" },
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
