/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/dedup/dedup_impl.h"

/* ---- reasons ---- */

int dedup_stop(struct dedup_result *r, enum dedup_outcome outcome,
	       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(r->reason, sizeof(r->reason), format, args);
	va_end(args);
	r->outcome = outcome;
	return -ECANCELED;
}

static int skip(struct dedup_result *r, const char *reason)
{
	return dedup_stop(r, DEDUP_SKIPPED, "%s", reason);
}

int dedup_explain(struct dedup_result *r, const char *action, int err)
{
	switch (err) {
	case 0:
		return 0;
	case -EILSEQ:
		return skip(r, "the contents differ");
	case -ETXTBSY:
		return skip(r, "a program has it open for writing");
	case -ESTALE:
		return skip(r, "it has changed");
	case -EBUSY:
		return skip(r, "another program has locked it (busy)");
	case -ELOOP:
		return skip(r, "a directory of its path is a symbolic link");
	case -EOPNOTSUPP:
		return skip(r, "this filesystem cannot share blocks of them "
			       "(XFS and btrfs can): not supported");
	case -EEXIST:
		return skip(r, "it is the kept file itself, by another path");
	case -EXDEV:
		return skip(r, "the two are on different filesystems");
	default:
		return dedup_stop(r, DEDUP_SKIPPED, "%s: %s", action,
				  err_text(err));
	}
}

/* ---- the two files ---- */

int dedup_open_step(const struct dedup_plan *p, const struct dedup_step *step,
		    const struct dedup_options *o, struct dedup_pair *pair,
		    struct dedup_result *r)
{
	bool is_kept;
	int err = dedup_pair_open(p, step, o, pair, &is_kept);

	if (err == -ESTALE && is_kept)
		return skip(r, "the file that is kept has changed");
	if (err)
		return dedup_explain(r,
				     is_kept ? "the file that is kept" :
					       "cannot be opened",
				     err);
	return 0;
}

/* What the groups were made of, if they say so. */
static bool is_known_content(const struct dedup_plan *p,
			     const struct dedup_step *step,
			     const struct dedup_pair *pair)
{
	const char *known = p->files[step->replace].xxh128;

	return !*known || !strcmp(known, pair->xxh128);
}

static int compare(const struct dedup_plan *p, const struct dedup_step *step,
		   const struct dedup_options *o, struct dedup_pair *pair,
		   struct dedup_result *r)
{
	static const char cannot[] = "cannot be compared";
	const char *difference = NULL;
	int err = dedup_explain(r, cannot, dedup_compare_content(pair));

	if (!err && !is_known_content(p, step, pair))
		err = skip(r, "its content is not that of the groups any more");
	if (err || o->method != DEDUP_HARDLINK)
		return err;
	err = dedup_explain(
		r, cannot,
		dedup_compare_metadata(pair, o->is_derived, &difference));
	if (err || !difference)
		return err;
	if (o->force_metadata && !dedup_has_privileges(pair))
		return 0;
	return dedup_stop(r, DEDUP_SKIPPED, "their %s differ%s", difference,
			  o->force_metadata ?
				  ", and one has set-ID bits or capabilities" :
				  "");
}

/* ---- replacing ---- */

/* Where the replaced path is, and the name beside it. */
struct dedup_spot {
	int directory; /* open */
	const char *name;
	const char *temporary;
};

static bool has_inode(int directory, const char *name, ino_t inode)
{
	struct stat st;

	return !fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       st.st_ino == inode;
}

static int link_beside(const struct dedup_spot *s, const struct dedup_pair *p)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", p->keep.fd);
	return linkat(AT_FDCWD, path, s->directory, s->temporary,
		      AT_SYMLINK_FOLLOW) ?
		       -errno :
		       0;
}

static int rename_beside(const struct dedup_spot *s, bool back, unsigned flags)
{
	const char *from = back ? s->temporary : s->name;
	const char *to = back ? s->name : s->temporary;

	return renameat2(s->directory, from, s->directory, to, flags) ? -errno :
									0;
}

/* After the rename the old file has the other name.  If it is not the one that
 * was compared, or was changed since, the rename is taken back. */
static int check_renamed(const struct dedup_spot *s, const struct dedup_pair *p)
{
	if (!has_inode(s->directory, s->temporary, p->replace.st.st_ino))
		return -ESTALE;
	return dedup_pair_check(p, true);
}

static int replace_by_link(const struct dedup_spot *s,
			   const struct dedup_pair *p)
{
	int err = link_beside(s, p);

	if (err)
		return err;
	err = rename_beside(s, false, RENAME_EXCHANGE);
	if (!err) {
		err = check_renamed(s, p);
		if (!err &&
		    !has_inode(s->directory, s->name, p->keep.st.st_ino))
			err = -ESTALE;
		if (err)
			(void)rename_beside(s, false, RENAME_EXCHANGE);
	}
	/* Either the old file or the link that is not needed. */
	if (!err || has_inode(s->directory, s->temporary, p->keep.st.st_ino))
		(void)unlinkat(s->directory, s->temporary, 0);
	return err;
}

static bool is_still_kept(const struct dedup_pair *p)
{
	struct stat st;

	return has_inode(p->keep.directory, p->keep.name, p->keep.st.st_ino) &&
	       !fstat(p->keep.fd, &st) && st.st_nlink > 0;
}

static int remove_copy(const struct dedup_spot *s, const struct dedup_pair *p)
{
	int err = rename_beside(s, false, RENAME_NOREPLACE);

	if (err)
		return err;
	err = check_renamed(s, p);
	if (!err && !is_still_kept(p))
		err = -ESTALE;
	if (err) {
		(void)rename_beside(s, true, RENAME_NOREPLACE);
		return err;
	}
	return unlinkat(s->directory, s->temporary, 0) ? -errno : 0;
}

/* ---- one step ---- */

static int make_temporary(char out[40])
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	(void)snprintf(out, 40, DEDUP_TEMPORARY "%016llx",
		       (unsigned long long)random);
	return 0;
}

/* The kept file may be younger than the copy and not on the disk yet: no power
 * loss may take it after the copy is gone. */
static int sync_kept(const struct dedup_pair *p)
{
	if (!fsync(p->keep.fd) || errno == EINVAL || errno == EROFS)
		return 0;
	return -errno;
}

static int replace(const struct dedup_options *o, const struct dedup_spot *s,
		   const struct dedup_pair *pair, struct dedup_sharing *sharing)
{
	int err;

	if (o->method == DEDUP_REFLINK)
		return dedup_share_whole(pair, true, sharing);
	err = sync_kept(pair);
	if (err)
		return err;
	return o->method == DEDUP_HARDLINK ? replace_by_link(s, pair) :
					     remove_copy(s, pair);
}

static int replace_journaled(const struct dedup_options *o,
			     const struct dedup_pair *pair,
			     struct dedup_record *record,
			     struct dedup_journal *j, struct dedup_result *r)
{
	const struct dedup_spot spot = { .directory = pair->replace.directory,
					 .name = pair->replace.name,
					 .temporary = record->temporary };
	int err = dedup_journal_begin(j, record);

	if (err)
		return dedup_stop(r, DEDUP_STOP,
				  "the journal cannot be written: %s",
				  err_text(err));
	err = replace(o, &spot, pair, &r->sharing);
	(void)dedup_journal_end(j, record, !err);
	return dedup_explain(r, "cannot be replaced", err);
}

void dedup_apply(const struct dedup_plan *p, const struct dedup_step *step,
		 const struct dedup_options *options, struct dedup_journal *j,
		 struct dedup_result *out)
{
	static const char attributes[] = "its attributes";
	struct dedup_pair pair;
	struct dedup_record record = {
		.method = options->method,
		.path = p->files[step->replace].path,
		.keep = p->files[step->keep].path,
	};
	char temporary[40];
	int err;

	if (options->method == DEDUP_BLOCKS || !j) {
		dedup_share_step(p, step, options, j, out);
		return;
	}
	err = dedup_open_step(p, step, options, &pair, out);
	if (!err)
		err = compare(p, step, options, &pair, out);
	if (!err)
		err = dedup_explain(out, "random numbers",
				    make_temporary(temporary));
	if (!err)
		err = dedup_explain(out, attributes,
				    dedup_read_attributes(pair.replace.fd,
							  options->is_derived,
							  &record.attributes));
	if (!err) {
		record.temporary =
			options->method == DEDUP_REFLINK ? NULL : temporary;
		record.st = *dedup_side_stat(&pair.replace);
		record.st.st_ino = pair.replace.st.st_ino;
		record.keep_inode = pair.keep.st.st_ino;
		memcpy(record.xxh128, pair.xxh128, sizeof(record.xxh128));
		err = replace_journaled(options, &pair, &record, j, out);
	}
	if (!err)
		out->outcome = DEDUP_DONE;
	json_decref(record.attributes);
	dedup_pair_close(&pair);
}
