/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/cli.h"
#include "core/cli/similar/foreign.h"

#define HEADER "# file: "

/* "sise:TEXT".  NULL when arg does not begin with the name of a digest. */
static const struct digest_info *prefix_of(const char *arg,
					   const char **text_out)
{
	const char *colon = strchr(arg, ':');
	const struct digest_info *info;
	char *name;

	if (!colon)
		return NULL;
	name = strndup(arg, (size_t)(colon - arg));
	info = name ? digest_find(name) : NULL;
	free(name);
	*text_out = colon + 1;
	return info;
}

/* One line of a file of digests: user.sise="...".  Other attributes and
 * comments are passed over. */
static int line_parse(char *line, struct digests *out)
{
	char *value = strstr(line, "=\"");
	const struct digest_info *info;
	size_t len;

	if (!value)
		return 0;
	*value = '\0';
	value += 2;
	len = strlen(value);
	info = digest_find(line);
	if (!info)
		return 0;
	if (!len || value[len - 1] != '"')
		return -EINVAL;
	return digest_parse(info->id, value, len - 1, out);
}

/* The first file's digests: up to an empty line.  -ENODATA: none. */
static int lines_parse(FILE *file, struct digests *out)
{
	char *line = NULL;
	size_t capacity = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = getline(&line, &capacity, file)) > 0) {
		if (line[len - 1] == '\n')
			line[--len] = '\0';
		if (!len)
			break;
		err = line_parse(line, out);
	}
	free(line);
	if (!err && !out->set)
		err = -ENODATA;
	return err;
}

static bool starts_with_header(FILE *file)
{
	char start[sizeof(HEADER) - 1];

	return fread(start, 1, sizeof(start), file) == sizeof(start) &&
	       !memcmp(start, HEADER, sizeof(start));
}

/* -ENODATA when it is no file of digests. */
static int digest_file_read(const char *path, struct digests *out)
{
	int err = -ENODATA;
	struct stat st;
	FILE *file;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -ENODATA;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	if (starts_with_header(file))
		err = lines_parse(file, out);
	fclose(file);
	return err;
}

static int content_read(struct reader *r, const char *path, struct digests *out)
{
	if (!strcmp(path, "-"))
		return reader_digest_fd(r, STDIN_FILENO, "stdin", out);
	return reader_digest_path(r, path, true, out);
}

static int complain_operand(const char *arg, int err)
{
	if (err == -EINVAL)
		cli_complain(arg, "malformed digest");
	else
		cli_complain_errno(arg, err);
	return EXIT_FAILED;
}

int operand_look(const char *arg, struct operand *out)
{
	const struct digest_info *info;
	struct operand o = { 0 };
	const char *text;
	int err;

	info = prefix_of(arg, &text);
	if (info) {
		err = digest_parse(info->id, text, strlen(text), &o.digests);
	} else {
		err = digest_file_read(arg, &o.digests);
		if (err == -ENODATA)
			err = foreign_read(arg, &o.digests);
		o.is_content = err == -ENODATA;
	}
	if (!err || o.is_content) {
		*out = o;
		return EXIT_OK;
	}
	digests_release(&o.digests);
	return complain_operand(arg, err);
}

int operand_read(struct reader *r, const char *arg, struct operand *o)
{
	int err = 0;

	if (o->is_content)
		err = content_read(r, arg, &o->digests);
	return err ? complain_operand(arg, err) : EXIT_OK;
}
