/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/act/dedup/dedup_impl.h"
#include "core/source/file.h"

/*
 * All names of a file go in one step, or none does:
 *
 *   1. A link to the kept file is made beside each name (hard links only).
 *   2. Each name is exchanged with the one beside it, or renamed to it.  Then
 *      it is looked at: the old file, unchanged, must be what is beside.
 *   3. The names beside are removed, and the old file with the last of them.
 *
 * What fails in 1 or 2 is taken back.
 */
struct replacing {
	const struct dedup_pair *pair;
	struct dedup_spot *spots;
	size_t count;
	bool links; /* DEDUP_HARDLINK */
};

static int swap(const struct replacing *w, const struct dedup_spot *s,
		bool back)
{
	const char *from = back ? s->beside : s->name;
	const char *to = back ? s->name : s->beside;

	return renameat2(s->directory, from, s->directory, to,
			 w->links ? RENAME_EXCHANGE : RENAME_NOREPLACE) ?
		       -errno :
		       0;
}

/* After the rename the old file has the other name, and the kept one has the
 * name that it is to have. */
static int check_swapped(const struct replacing *w, const struct dedup_spot *s)
{
	const struct dedup_side *keep = &w->pair->keep;
	ino_t old = w->pair->replace.view[0].st.st_ino;

	if (!dedup_has_inode(s->directory, s->beside, old) ||
	    !(w->links ? dedup_has_inode(s->directory, s->name,
					 keep->view[0].st.st_ino) :
			 dedup_has_inode(keep->directory, keep->name,
					 keep->view[0].st.st_ino)))
		return -ESTALE;
	return dedup_pair_check(w->pair, true);
}

static int replace_names(const struct replacing *w)
{
	size_t made = 0, swapped = 0, i;
	int err = 0, failed = 0;

	while (w->links && made < w->count && !err) {
		err = file_link(w->pair->keep.view[0].fd,
				w->spots[made].directory,
				w->spots[made].beside);
		made += !err;
	}
	while (swapped < w->count && !err) {
		err = swap(w, &w->spots[swapped], false);
		swapped += !err;
		if (!err)
			err = check_swapped(w, &w->spots[swapped - 1]);
	}
	for (i = 0; err && i < swapped; i++)
		(void)swap(w, &w->spots[i], true);
	/* What is beside is the old file, or the link that is not needed. */
	for (i = 0; i < (err ? made : w->count); i++) {
		const struct dedup_spot *s = &w->spots[i];

		if (err && !dedup_has_inode(s->directory, s->beside,
					    w->pair->keep.view[0].st.st_ino))
			continue;
		if (unlinkat(s->directory, s->beside, 0))
			failed = failed ? failed : -errno;
	}
	return err ? err : failed;
}

/* The kept file may be younger than the copy and not on the disk yet: no power
 * loss may take it after the copy is gone. */
static int sync_kept(const struct dedup_pair *p)
{
	if (!fsync(p->keep.view[0].fd) || errno == EINVAL || errno == EROFS)
		return 0;
	return -errno;
}

/* ---- one step ---- */

/* Writes down what undo needs, then does it. */
static int replace_file(const struct dedup_file *f, const char *keep,
			enum dedup_method method, const struct dedup_pair *pair,
			struct dedup_journal *j, struct dedup_result *r)
{
	char temporary[40];
	struct dedup_record record = {
		.method = method,
		.paths = f->paths,
		.path_count = f->path_count,
		.keep = (char *)keep,
		.temporary = temporary,
		.st = dedup_side_view(&pair->replace)->st,
		.keep_inode = pair->keep.view[0].st.st_ino,
	};
	struct replacing w = { .pair = pair,
			       .count = record.path_count,
			       .links = method == DEDUP_HARDLINK };
	uint64_t random;
	int err = dedup_read_attributes(pair->replace.view[0].fd,
					&record.attributes);

	record.st.st_ino = pair->replace.view[0].st.st_ino;
	memcpy(record.sha256, pair->sha256, sizeof(record.sha256));
	if (!err && getrandom(&random, sizeof(random), 0) != sizeof(random))
		err = -EIO;
	if (!err) {
		(void)snprintf(temporary, sizeof(temporary),
			       DEDUP_TEMPORARY "%016llx",
			       (unsigned long long)random);
		err = dedup_spots_open(record.paths, record.path_count,
				       temporary, false, &w.spots);
	}
	if (!err) {
		err = dedup_journal_begin(j, &record);
		if (err)
			err = dedup_stop(r, DEDUP_STOP,
					 "the journal cannot be written: %s",
					 err_text(err));
		else
			err = sync_kept(pair);
		if (!err)
			err = replace_names(&w);
		if (r->outcome != DEDUP_STOP)
			(void)dedup_journal_end(j, &record, !err);
	}
	dedup_spots_close(w.spots, w.count);
	json_decref(record.attributes);
	return err;
}

void dedup_apply(const struct dedup_plan *p, size_t replace,
		 const struct dedup_rules *rules, struct dedup_journal *j,
		 struct dedup_result *out)
{
	const struct dedup_file *f = &p->files[replace],
				*keep = &p->files[f->keep];
	const bool sharing = dedup_is_sharing(rules->method);
	struct dedup_pair pair;
	int err = dedup_inspect(keep, f, rules, j != NULL, &pair, out);

	if (!err && sharing)
		err = dedup_share(&pair, rules->method == DEDUP_REFLINK, j,
				  &out->sharing);
	else if (!err && j)
		err = replace_file(f, keep->paths[0], rules->method, &pair, j,
				   out);
	if (!dedup_explain(out,
			   sharing ? "blocks cannot be shared" :
				     "cannot be replaced",
			   err))
		out->outcome = DEDUP_DONE;
	dedup_pair_close(&pair);
}
