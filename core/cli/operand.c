/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/cli/cli.h"
#include "core/cli/digest/style.h"

#define HEADER "# file: "

/* "sise:TEXT".  NULL when arg does not begin with the name of a digest. */
static const struct digest_ops *prefix_of(const char *arg,
					  const char **text_out)
{
	const char *colon = strchr(arg, ':');
	const struct digest_ops *info;
	char *name;

	if (!colon)
		return NULL;
	name = strndup(arg, (size_t)(colon - arg));
	info = name ? digest_find(name) : NULL;
	free(name);
	*text_out = colon + 1;
	return info;
}

static int complain_operand(const char *arg, int err)
{
	return err == -EINVAL ? cli_complain(arg, "malformed digest") :
				cli_complain_errno(arg, err);
}

/* ---- lists of digests ---- */

/* A file of digests while its lines are read. */
struct list {
	const struct digest_style *format; /* NULL: as getfattr prints them */
	struct operands *out;
	struct buf segments; /* of the sdhash at hand */
	size_t prefix;       /* how much of these lines is in common; 0: none */
};

static int add_operand(struct operands *o, const char *name, size_t len)
{
	struct operand *all = array_with_room(o->all, o->count, sizeof(*all));

	if (!all)
		return -ENOMEM;
	o->all = all;
	all[o->count] = (struct operand){ .name = strndup(name, len) };
	return all[o->count].name ? (int)(o->count++, 0) : -ENOMEM;
}

/* user.sise="..."; other attributes and comments are passed over. */
static int take_attribute(struct list *l, char *line)
{
	char *value = strstr(line, "=\"");
	const struct digest_ops *info;
	size_t len;

	if (!strncmp(line, HEADER, strlen(HEADER)))
		return add_operand(l->out, line + strlen(HEADER),
				   strlen(line + strlen(HEADER)));
	if (!value)
		return 0;
	*value = '\0';
	info = digest_find(line);
	if (!info)
		return 0;
	value += 2;
	len = strlen(value);
	if (!len || value[len - 1] != '"' || !l->out->count)
		return -EINVAL;
	return digest_parse(info->id, value, len - 1,
			    &l->out->all[l->out->count - 1].digests);
}

/* DIGEST,"NAME": the digests have no comma. */
static int take_line(struct list *l, const char *line)
{
	size_t len = strcspn(line, ",");
	const char *name = line + len + strspn(line + len, ",\"");
	int err = add_operand(l->out, name, strcspn(name, "\""));

	return err ? err :
		     digest_parse(l->format->only->id, line, len,
				  &l->out->all[l->out->count - 1].digests);
}

static int end_segments(struct list *l)
{
	int err = 0;

	if (l->segments.len)
		err = digest_parse(DIGEST_SDHASH, l->segments.data,
				   l->segments.len,
				   &l->out->all[l->out->count - 1].digests);
	buf_clear(&l->segments);
	return err;
}

/* A large file has a line for each of its segments.  sdbf:03:LENGTH:NAME: */
static int take_sdhash(struct list *l, const char *line)
{
	const char *name = strchr(line, ':'), *segment;
	size_t len = 0;
	int i, err;

	if (l->segments.len && l->prefix &&
	    !strncmp(line, l->segments.data, l->prefix)) {
		err = buf_append_text(&l->segments, "\n");
		return err ? err : buf_append_text(&l->segments, line);
	}
	err = end_segments(l);
	/* What the lines of one file have in common: sdbf:03:, the name's length,
	 * and the name without the number of its segment. */
	segment = strstr(line, ".0000M:");
	l->prefix = segment ? (size_t)(segment - line) + 1 : 0;
	for (i = 0; name && i < 2; i++) {
		len = strtoul(name + 1, NULL, 10);
		name = strchr(name + 1, ':');
	}
	if (!name || len > strlen(name + 1))
		return -EINVAL;
	if (!err)
		err = add_operand(l->out, name + 1, len);
	return err ? err : buf_append_text(&l->segments, line);
}

/* Of a list as another program writes it, by its title. */
static const struct digest_style *format_by_title(const char *line)
{
	const struct digest_style *s = digest_formats;

	while (s->magic && strncmp(line, s->magic, strlen(s->magic)) != 0)
		s++;
	return s->magic ? s : NULL;
}

static int take_text(struct list *l, char *text)
{
	text[strcspn(text, "\r\n")] = '\0';
	if (!*text)
		return 0;
	if (!l->format)
		return take_attribute(l, text);
	if (l->format->only == &digest_sdhash)
		return take_sdhash(l, text);
	/* Its title; of several lists in one file, too. */
	return format_by_title(text) ? 0 : take_line(l, text);
}

/* A list that lost its title: the first line is a digest and a name. */
static const struct digest_style *format_without_title(const char *text)
{
	const struct digest_style *s = digest_formats;
	size_t len = strcspn(text, ",\r\n");
	struct digests d = { 0 };
	int err = -EINVAL;

	for (; text[len] == ',' && s->magic; s++) {
		err = digest_parse(s->only->id, text, len, &d);
		digests_release(&d);
		if (!err)
			return s;
	}
	return NULL;
}

/* The file, if it begins like a list.  -ENODATA: it does not. */
static int read_list(FILE *file, struct list *l, size_t *line_out)
{
	char head[64 << 10]; /* more than the longest line but of sdhash */
	char *text = NULL;
	size_t begin, room = 0;
	ssize_t len;
	int err = 0;

	head[fread(head, 1, sizeof(head) - 1, file)] = '\0';
	begin = strncmp(head, "\xef\xbb\xbf", 3) ? 0 : 3;
	l->format = format_by_title(head + begin);
	if (!l->format)
		l->format = format_without_title(head + begin);
	if (!l->format && strncmp(head + begin, HEADER, strlen(HEADER)) != 0)
		return ferror(file) ? -EIO : -ENODATA;
	if (fseek(file, (long)begin, SEEK_SET))
		return -errno;
	while (!err && (len = getline(&text, &room, file)) > 0) {
		++*line_out;
		err = strlen(text) == (size_t)len ? take_text(l, text) :
						    -EINVAL;
	}
	free(text);
	return err ? err : ferror(file) ? -EIO : end_segments(l);
}

/* -ENODATA when it is no list; else an error is complained of. */
static int list_read(const char *path, struct operands *out)
{
	struct list l = { .out = out };
	struct stat st;
	size_t line = 0, kept = 0, i;
	FILE *file;
	int err;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -ENODATA;
	file = fopen(path, "re");
	if (!file)
		return complain_operand(path, -errno);
	err = read_list(file, &l, &line);
	fclose(file);
	buf_release(&l.segments);
	/* Without files that have other attributes alone. */
	for (i = 0; i < out->count; i++)
		if (out->all[i].digests.set)
			out->all[kept++] = out->all[i];
		else
			free(out->all[i].name);
	out->count = kept;
	if (!err && !kept)
		err = l.format ? -EINVAL : -ENODATA;
	if (err == -EINVAL)
		return cli_complain(path, "line %zu: malformed digest", line);
	return err && err != -ENODATA ? complain_operand(path, err) : err;
}

int operands_look(const char *arg, struct operands *out)
{
	const struct digest_ops *info;
	const char *text;
	int err;

	*out = (struct operands){ 0 };
	info = prefix_of(arg, &text);
	err = info ? -ENODATA : list_read(arg, out);
	if (err != -ENODATA)
		return err;
	err = add_operand(out, arg, strlen(arg));
	if (!err && info)
		err = digest_parse(info->id, text, strlen(text),
				   &out->all[0].digests);
	if (err)
		return complain_operand(arg, err);
	out->all[0].is_content = !info;
	return EXIT_OK;
}

int operands_read(struct reader *r, const char *arg, bool text,
		  struct operands *o)
{
	int err =
		o->all[0].is_content ?
			reader_digest_named(r, arg, text, &o->all[0].digests) :
			0;

	return err ? complain_operand(arg, err) : EXIT_OK;
}

void operands_release(struct operands *o)
{
	while (o->count) {
		digests_release(&o->all[--o->count].digests);
		free(o->all[o->count].name);
	}
	free(o->all);
}
