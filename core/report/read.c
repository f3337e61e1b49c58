/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/report/report.h"

static int check_root(struct report_list *list, struct groups_line *line)
{
	if (!line->root)
		return 0;
	if (list->root)
		return strcmp(list->root, line->root) ? -ENODEV : 0;
	list->root = line->root;
	line->root = NULL;
	return 0;
}

static int take_line(struct report *r, struct report_list *list,
		     const char *text, size_t len)
{
	struct groups_line line = { 0 };
	int err = groups_line_parse(text, len, &line);

	if (!err)
		err = check_root(list, &line);
	if (!err && line.threshold)
		list->threshold = line.threshold;
	if (!err && line.has_totals)
		list->incomplete |= line.totals.incomplete;
	else if (!err)
		err = report_add_group(r, &line.group);
	groups_line_release(&line);
	return err;
}

int report_read(struct report *r, FILE *in, struct report_list *list)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t len;
	int err = 0;

	errno = 0;
	while (!err && (len = getline(&text, &room, in)) > 0) {
		list->line++;
		err = take_line(r, list, text, (size_t)len);
		errno = 0;
	}
	if (!err && !feof(in))
		err = errno ? -errno : -EIO;
	free(text);
	return err;
}
