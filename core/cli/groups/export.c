/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/groups/groups.h"

struct export_job {
	struct export_source source;
	bool plain, seeds;
};

/* ---- trees ---- */

int export_source_find(struct export_source *s)
{
	struct stat st;
	int code;

	if (stat(s->path, &st))
		return cli_complain_errno(s->path, -errno);
	if (!S_ISDIR(st.st_mode))
		return EXIT_OK;
	code = mount_find_or_complain(s->path, &s->mount);
	if (!code && !mount_listings_or_complain(&s->mount))
		code = EXIT_FAILED;
	return code;
}

int export_complain(const struct export_reader *r, int err)
{
	const char *path = r->source->path;
	const size_t line = r->content.file.number;

	if (r->source->mount.root)
		return cli_complain_errno(path, err);
	if (err == -EMEDIUMTYPE)
		return cli_complain(path, "not a file as kin export writes it");
	if (err == -EPROTONOSUPPORT)
		return cli_complain(path,
				    "written by another version of kin export; "
				    "export it anew");
	if (err == -EBADMSG)
		return cli_complain(path, "line %zu is damaged", line);
	if (err == -EFBIG)
		return cli_complain(path, "line %zu is longer than %zu MiB",
				    line, CLIENT_LINE_MAX >> 20);
	return err == -ENODATA ?
		       cli_complain(path, "damaged or cut: it has no end") :
		       cli_complain_errno(path, err);
}

/* ---- the command ---- */

static int write_tree(const struct export_job *job, FILE *out,
		      bool *incomplete_out)
{
	struct export_reader r;
	int err = export_open(&r, &job->source), code = EXIT_OK;

	if (!err)
		err = export_write(out, &r.content, job->seeds);
	if (err)
		code = export_complain(&r, err);
	*incomplete_out = r.content.totals.incomplete;
	export_close(&r);
	return code;
}

static struct export_job export_job;

static int run(const struct command *self, char **paths)
{
	struct export_job *job = self->job;
	bool incomplete = false;
	FILE *out;
	int code;

	if (isatty(STDOUT_FILENO) && !job->plain)
		return cli_usage_error(self,
				       "standard output is a terminal; write "
				       "to a file, or give --plain");
	job->source.path = *paths;
	code = mount_find(*paths, &job->source.mount);
	if (code)
		return code;
	if (!mount_listings_or_complain(&job->source.mount))
		return EXIT_FAILED;
	out = job->plain ? stdout : export_compress(stdout);
	if (!out)
		return -ENOMEM;
	code = write_tree(job, out, &incomplete);
	/* An unfinished export has no last line, so it is not taken for one. */
	if ((job->plain ? fflush(out) : fclose(out)) && !code)
		code = cli_complain_errno("standard output",
					  errno ? -errno : -EIO);
	return !code && incomplete ?
		       cli_complain_incomplete(job->source.mount.root) :
		       code;
}

static const struct option_row options[] = {
	{ "seeds", 0, NULL,
	  "of the digests only what kin seed needs, some 30 bytes a content",
	  OPTION_FLAG(struct export_job, seeds) },
	{ "plain", 0, NULL, "not compressed",
	  OPTION_FLAG(struct export_job, plain) },
	FILTER_OPTIONS(struct export_job, source.filter),
	{ 0 },
};

const struct command command_export = {
	.name = "export",
	.operands = { 1, 1 },
	.lacking = "which mount?",
	.synopsis = "export [OPTION]... MOUNT >FILE",
	.summary = "Write what is known about the files of a mount to a file",
	.help = "The contents that you may read, with size, digests and the "
		"paths of their files,\n"
		"as JSON lines compressed by zstd, in the order of XXH128; for "
		"kin missing and\n"
		"kin similar --in, here or on another machine.  Of a directory of a mount only\n"
		"what is below it.\n",
	.options = options,
	.notes = "Exit status: 0 ok; 1 failed; 2 usage; 3 not all files are "
		 "hashed.\n",
	.job = &export_job,
	.run = run,
};
