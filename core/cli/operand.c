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
	const size_t len = strcspn(arg, ":");
	char name[32];

	*text_out = arg + len + 1;
	if (!arg[len] || len >= sizeof(name))
		return NULL;
	memcpy(name, arg, len);
	name[len] = '\0';
	return digest_find(name);
}

/* One more at the end.  The one before it goes if no digest of it was read: a file
 * may have other attributes alone. */
static int add_operand(struct operands *o, const char *name, size_t len)
{
	struct operand *all;

	if (o->count && !o->all[o->count - 1].digests.set)
		free(o->all[--o->count].name);
	all = array_with_room(o->all, o->count, sizeof(*all));
	if (!all)
		return -ENOMEM;
	o->all = all;
	all[o->count] = (struct operand){ .name = strndup(name, len) };
	return all[o->count].name ? (int)(o->count++, 0) : -ENOMEM;
}

/* Reads a digest of the last one. */
static int parse(struct operands *o, const struct digest_ops *ops,
		 const char *text, size_t len)
{
	return o->count ? digest_parse(ops->id, text, len,
				       &o->all[o->count - 1].digests) :
			  -EINVAL;
}

/* ---- lists of digests ---- */

/* A file of digests while its lines are read. */
struct list {
	const struct digest_style *format; /* NULL: as getfattr prints them */
	struct operands *out;
	FILE *in;            /* owned */
	char *text;          /* owned: a line */
	size_t room, line;   /* of text; its number */
	struct buf segments; /* of the sdhash at hand */
};

/* user.sise="..."; other attributes and comments are passed over. */
static int take_attribute(struct list *l, char *line)
{
	char *value = strstr(line, "=\"");
	const struct digest_ops *ops;
	size_t len;

	if (!strncmp(line, HEADER, strlen(HEADER)))
		return add_operand(l->out, line + strlen(HEADER),
				   strlen(line + strlen(HEADER)));
	if (!value)
		return 0;
	*value = '\0';
	ops = digest_find(line);
	value += 2;
	len = strlen(value);
	if (ops && (!len || value[len - 1] != '"'))
		return -EINVAL;
	return ops ? parse(l->out, ops, value, len - 1) : 0;
}

/* DIGEST,"NAME": the digests have no comma. */
static int take_line(struct list *l, const char *line)
{
	size_t len = strcspn(line, ",");
	const char *name = line + len + strspn(line + len, ",\"");
	int err = add_operand(l->out, name, strcspn(name, "\""));

	return err ? err : parse(l->out, l->format->only, line, len);
}

static int end_segments(struct list *l)
{
	int err = l->segments.len ? parse(l->out, &digest_sdhash,
					  l->segments.data, l->segments.len) :
				    0;

	buf_clear(&l->segments);
	return err;
}

/* A large file has a line for each of its segments.  sdbf:03:LENGTH:NAME: */
static int take_sdhash(struct list *l, const char *line)
{
	const char *first = l->segments.len ? l->segments.data : "";
	const char *number = strstr(first, ".0000M:");
	size_t len;
	int name = 0, err;

	/* What the lines of one file have in common: sdbf:03:, the name's length,
	 * and the name without the number of its segment. */
	if (number && !strncmp(line, first, (size_t)(number - first) + 1))
		return buf_append_format(&l->segments, "\n%s", line);
	err = end_segments(l);
	if (err)
		return err;
	if (sscanf(line, "%*[^:]:%*[^:]:%zu:%n", &len, &name) < 1 || !name ||
	    len > strlen(line + name))
		return -EINVAL;
	err = add_operand(l->out, line + name, len);
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

/* A list that lost its title: the first line is a digest and a name. */
static const struct digest_style *format_without_title(const char *line)
{
	const struct digest_style *s = digest_formats;
	size_t len = strcspn(line, ",\r\n");
	struct digests d = { 0 };
	int err = -EINVAL;

	for (; line[len] == ',' && s->magic; s++) {
		err = digest_parse(s->only->id, line, len, &d);
		digests_release(&d);
		if (!err)
			return s;
	}
	return NULL;
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

/* Whether a text of UTF-16, as PowerShell redirects it to a file, begins like a
 * list: in ASCII, with a NUL beside each letter. */
static bool is_utf16_list(const char *head, size_t len)
{
	char begin[64] = "";
	size_t i, used = 0;

	if (len < 2 ||
	    (memcmp(head, "\xff\xfe", 2) && memcmp(head, "\xfe\xff", 2)))
		return false;
	for (i = 2; i < len && used < sizeof(begin) - 1; i++)
		if (head[i])
			begin[used++] = head[i];
	return format_by_title(begin) ||
	       !strncmp(begin, HEADER, strlen(HEADER));
}

/* -ENODATA: the file does not begin like a list, or has attributes that are no
 * digests.  -EILSEQ: it is one in UTF-16. */
static int read_list(const char *path, struct list *l)
{
	char head[64 << 10]; /* more than the longest line but of sdhash */
	struct operands *o = l->out;
	struct stat st;
	size_t begin;
	ssize_t len;
	int err = 0;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return -ENODATA;
	l->in = fopen(path, "re");
	if (!l->in)
		return -errno;
	begin = fread(head, 1, sizeof(head) - 1, l->in);
	head[begin] = '\0';
	if (is_utf16_list(head, begin))
		return -EILSEQ;
	begin = strncmp(head, "\xef\xbb\xbf", 3) ? 0 : 3;
	l->format = format_by_title(head + begin);
	if (!l->format)
		l->format = format_without_title(head + begin);
	if (!l->format && strncmp(head + begin, HEADER, strlen(HEADER)) != 0)
		return ferror(l->in) ? -EIO : -ENODATA;
	if (fseek(l->in, (long)begin, SEEK_SET))
		return -errno;
	while (!err && (len = getline(&l->text, &l->room, l->in)) > 0) {
		l->line++;
		err = strlen(l->text) == (size_t)len ? take_text(l, l->text) :
						       -EINVAL;
	}
	if (!err)
		err = ferror(l->in) ? -EIO : end_segments(l);
	if (o->count && !o->all[o->count - 1].digests.set)
		free(o->all[--o->count].name);
	return err || o->count ? err : l->format ? -EINVAL : -ENODATA;
}

int operands_look(const char *arg, struct operands *out)
{
	struct list l = { .out = out };
	const char *text, *what;
	const struct digest_ops *ops = prefix_of(arg, &text);
	size_t line;
	int err = ops ? -ENODATA : read_list(arg, &l);

	line = l.line;
	if (l.in)
		(void)fclose(l.in);
	free(l.text);
	buf_release(&l.segments);
	if (err == -ENODATA) {
		line = 0;
		err = add_operand(out, arg, strlen(arg));
		if (!err && ops)
			err = parse(out, ops, text, strlen(text));
		else if (!err)
			out->all[0].is_content = true;
	}
	if (err == -EILSEQ)
		return cli_complain(arg, "a list in UTF-16, which is not read; "
					 "iconv -f utf16 -t utf8 makes it "
					 "UTF-8");
	if (err != -EINVAL && err != -EPROTONOSUPPORT)
		return err ? cli_complain_errno(arg, err) : EXIT_OK;
	what = err == -EINVAL ? "malformed digest" :
				"sketch of an earlier version of kinfs; "
				"compute it anew";
	return line ? cli_complain(arg, "line %zu: %s", line, what) :
		      cli_complain(arg, "%s", what);
}
