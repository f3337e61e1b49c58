/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/digest/foreign.h"

#include <errno.h>
#include <stdlib.h>
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

int foreign_append_name(const char *path, struct buf *out)
{
	char *absolute = strcmp(path, "-") ? cli_absolute_path(path) : NULL;
	int err;

	if (strcmp(path, "-") && !absolute)
		return -errno;
	err = buf_append_text(out, absolute ? absolute : "stdin");
	free(absolute);
	return err;
}

/* The line of an sdhash has the name already.  A quotation mark in a name: ssdeep
 * writes a backslash before it, SiSe writes it as it is. */
int foreign_format(const struct foreign *f, const struct digests *d,
		   const char *path, struct buf *out)
{
	struct buf name = { 0 };
	size_t i;
	int err = digest_format(d, f->id, out);

	if (err || f->id == DIGEST_SDHASH)
		return err ? err : buf_append_text(out, "\n");
	err = strpbrk(path, "\n\r") ? -EILSEQ :
				      foreign_append_name(path, &name);
	if (!err)
		err = buf_append_text(out, ",\"");
	for (i = 0; i < name.len && !err; i++)
		err = buf_append_format(
			out, "%s%c",
			name.data[i] == '"' && f->id == DIGEST_SSDEEP ? "\\" :
									"",
			name.data[i]);
	buf_release(&name);
	return err ? err : buf_append_text(out, "\"\n");
}
