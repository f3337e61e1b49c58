/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/dedup/dedup_impl.h"

/*
 * A run that was killed may leave one temporary name, that of the step it was
 * in.  undo.c has the table of the states.  What is left is removed when the
 * path has its content; else it is the only name of the old file and gets the
 * path back.
 */
static int settle_at(const struct dedup_record *r,
		     const struct dedup_undo_spot *s)
{
	if (!s->beside)
		return 0;
	if (!s->inode && s->is_beside_old)
		return renameat2(s->directory, r->temporary, s->directory,
				 s->name, RENAME_NOREPLACE) ?
			       -errno :
			       1;
	if (dedup_spot_has_spare_link(s, r) ||
	    (r->method == DEDUP_HARDLINK && s->inode == r->keep_inode &&
	     s->is_beside_old))
		return unlinkat(s->directory, r->temporary, 0) ? -errno : 1;
	return 0;
}

static int settle_record(const struct dedup_record *r)
{
	struct dedup_undo_spot s = { 0 };
	int result;

	if (r->ended || !r->temporary)
		return 0;
	s.directory = dedup_open_parent(r->path, &s.name);
	if (s.directory < 0)
		return s.directory;
	dedup_spot_read(&s, r);
	result = settle_at(r, &s);
	close(s.directory);
	return result;
}

int dedup_settle(const char *journal, bool *settled_out)
{
	struct dedup_record *records = NULL;
	size_t count = 0;
	int err = dedup_journal_read(journal, &records, &count);

	if (err)
		return err;
	*settled_out = count && settle_record(&records[count - 1]) > 0;
	while (count)
		dedup_record_release(&records[--count]);
	free(records);
	return 0;
}
