/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "core/cli/groups/groups.h"

int export_complain(const struct export_reader *r)
{
	const size_t line = r->content.lines.number;
	const char *path = r->path;

	if (!r->err)
		return EXIT_OK;
	if (r->mount.root && r->err == -EOPNOTSUPP &&
	    mount_listings_or_complain(&r->mount))
		return EXIT_FAILED;
	if (r->content.wish || !r->content.lines.in) /* it is no file */
		return cli_complain_errno(path, r->err == -EINVAL ? -EBADMSG :
								    r->err);
	switch (-r->err) {
	case EMEDIUMTYPE:
		return cli_complain(path, "not a file as kin export writes it");
	case EPROTONOSUPPORT:
		return cli_complain(path,
				    "written by another version of kin export; "
				    "export it anew");
	case EINVAL:
		return cli_complain(path, "line %zu is damaged", line);
	case EFBIG:
		return cli_complain(path, "line %zu is longer than %zu MiB",
				    line, CLIENT_LINE_MAX >> 20);
	case ENODATA:
	case EIO:
		return cli_complain(path, "damaged or cut: it has no end");
	default:
		return cli_complain_errno(path, r->err);
	}
}

/* ---- the command ---- */

struct export_job {
	struct groups_asking asking;
	bool plain, seeds;
};

static int run(const struct command *self, char **paths)
{
	struct export_job *job = self->job;
	struct groups_asking *a = &job->asking;
	FILE *out;
	int code;

	if (isatty(STDOUT_FILENO) && !job->plain)
		return cli_usage_error(self,
				       "standard output is a terminal; write "
				       "to a file, or give --plain");
	code = once_mount(*paths, false);
	if (!code)
		code = name_list_find(&a->wish.within, &a->mount, paths);
	if (!code)
		code = groups_asking_begin(a);
	if (code)
		return groups_asking_explain(a, code);
	out = job->plain ? stdout : export_stream(stdout, "w");
	if (!out)
		return -ENOMEM;
	code = export_write(out, &a->groups, job->seeds);
	if (code && (ferror(out) || ferror(stdout)))
		code = cli_complain_errno("standard output", code);
	code = groups_asking_explain(a, code);
	/* An unfinished export has no last line, so it is not taken for one. */
	if ((job->plain ? fflush(out) : fclose(out)) && !code)
		code = cli_complain_errno("standard output",
					  errno ? -errno : -EIO);
	return !code && a->groups.totals.incomplete ?
		       cli_complain_incomplete(a->mount.root,
					       a->groups.totals.failed,
					       a->groups.totals.failed_texts) :
		       code;
}

static const struct option_row options[] = {
	{ "seeds", 0, NULL,
	  "of the digests only what kin seed needs, some 30 bytes a content",
	  OPTION_FLAG(struct export_job, seeds) },
	{ "plain", 0, NULL, "not compressed",
	  OPTION_FLAG(struct export_job, plain) },
	FILTER_OPTIONS(struct export_job, asking.wish.filter),
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
	.job = &(struct export_job){ .asking.wish.every = true },
	.run = run,
};
