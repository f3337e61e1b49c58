/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/foreign.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* ---- reading ---- */

static const struct foreign *format_of(FILE *file)
{
	char start[16] = "";
	size_t i, len = fread(start, 1, sizeof(start) - 1, file);

	start[len] = '\0';
	rewind(file);
	for (i = 0; i < FORMAT_COUNT; i++)
		if (!strncmp(start, formats[i].magic, strlen(formats[i].magic)))
			return &formats[i];
	return NULL;
}

/* What is before the name: these digests have no comma. */
static int parse_line(const struct foreign *f, const char *line,
		      struct digests *out)
{
	return digest_parse(f->id, line, strcspn(line, ",\r\n"), out);
}

/* The length of what two lines of one file have in common: sdbf:03:, the
 * name's length, and the name without the number of its segment.  0 when the
 * line is no first segment. */
static size_t segment_prefix(const char *line)
{
	const char *end = strstr(line, ".0000M:");

	return end ? (size_t)(end - line) + 1 : 0;
}

/* A large file has a line for each of its segments. */
static int read_segments(FILE *file, struct digests *out)
{
	struct buf text = { 0 };
	char *line = NULL;
	size_t capacity = 0, prefix = 0;
	int err = 0;

	while (!err && getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (text.len && (!prefix || strncmp(line, text.data, prefix)))
			break;
		if (!text.len)
			prefix = segment_prefix(line);
		else
			err = buf_append_text(&text, "\n");
		if (!err)
			err = buf_append_text(&text, line);
	}
	if (!err)
		err = digest_parse(DIGEST_SDHASH, text.data, text.len, out);
	free(line);
	buf_release(&text);
	return err;
}

static int read_lines(const struct foreign *f, FILE *file, struct digests *out)
{
	char *line = NULL;
	size_t capacity = 0;
	bool has_header;
	int err = -EINVAL;

	if (f->id == DIGEST_SDHASH)
		return read_segments(file, out);
	has_header = getline(&line, &capacity, file) > 0;
	if (has_header && getline(&line, &capacity, file) > 0)
		err = parse_line(f, line, out);
	free(line);
	return err;
}

int foreign_read(const char *path, struct digests *out)
{
	const struct foreign *f;
	struct stat st;
	FILE *file;
	int err = -ENODATA;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -ENODATA;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	f = format_of(file);
	if (f)
		err = read_lines(f, file, out);
	fclose(file);
	return err;
}
