/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/digest/foreign.h"

#include <errno.h>
#include <string.h>

#include "core/cli/cli.h"

static const struct foreign formats[] = {
	{ "sise", DIGEST_SISE, "SiSe-1.0--7:1--blocksize:hash,filename\n",
	  "SiSe" },
	{ "ssdeep", DIGEST_SSDEEP, "ssdeep,1.1--blocksize:hash:hash,filename\n",
	  "ssdeep," },
	{ "sdbf", DIGEST_SDHASH, "", "sdbf" },
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

const struct foreign *foreign_find(const char *name)
{
	size_t i;

	for (i = 0; i < FORMAT_COUNT; i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

const struct foreign *foreign_by_line(const char *line)
{
	size_t i;

	for (i = 0; i < FORMAT_COUNT; i++)
		if (!strncmp(line, formats[i].magic, strlen(formats[i].magic)))
			return &formats[i];
	return NULL;
}

/* ---- writing ---- */

/* A quotation mark in a name: ssdeep writes a backslash before it, SiSe writes
 * it as it is. */
static int append_quoted(const struct foreign *f, const char *path,
			 struct buf *out)
{
	struct buf name = { 0 };
	int err = strcmp(path, "-") ? cli_append_absolute_path(&name, path) :
				      buf_append_text(&name, "stdin");
	size_t i;

	if (!err)
		err = buf_append_text(out, ",\"");
	for (i = 0; i < name.len && !err; i++) {
		if (name.data[i] == '"' && f->id == DIGEST_SSDEEP)
			err = buf_append_text(out, "\\");
		if (!err)
			err = buf_append(out, &name.data[i], 1);
	}
	if (!err)
		err = buf_append_text(out, "\"");
	buf_release(&name);
	return err;
}

int foreign_format(const struct foreign *f, const struct digests *d,
		   const char *path, struct buf *out)
{
	int err;

	/* The line of an sdhash has the name already. */
	if (f->id != DIGEST_SDHASH && strpbrk(path, "\n\r"))
		return -EILSEQ;
	err = digest_format(d, f->id, out);
	if (!err && f->id != DIGEST_SDHASH)
		err = append_quoted(f, path, out);
	return err ? err : buf_append_text(out, "\n");
}
