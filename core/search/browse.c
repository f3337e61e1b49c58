/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/filter.h"
#include "core/source/file.h"

/*
 * Finds the entries of a directory that have a near-duplicate, or that have
 * such a file below them.
 */

/* 1: a content that resembles q->self_content has a visible file.  any: only
 * the first such content is looked at; *count_out is how many there are. */
static int has_match(struct search_query *q, bool any, size_t *count_out)
{
	struct index_match *matches;
	size_t i;
	int err = near_contents(q, NULL, any, &matches, count_out);

	if (err)
		return err;
	for (i = 0; i < *count_out && !err; i++)
		if (!contents_are_ignored(q, q->self_content,
					  matches[i].content))
			err = content_is_visible(q, matches[i].content) ?
				      1 :
				      q->err;
	free(matches);
	return err;
}

/* 1: the file has a near-duplicate; 0: it has none.  For a caller that is not
 * trusted one match is searched for first, because it most often has a visible
 * file.  For others all are: the listing of the file, which often comes next,
 * needs them (match_cache.c). */
static int has_near(struct search_query *q, const struct file_key *key,
		    const struct file_record *rec)
{
	size_t count = 1;
	int err = 0;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !file_is_visible(q, key))
		return 0;
	err = q->live ? file_is_internal(q, key) : 0;
	if (err)
		return err < 0 ? err : 0;
	q->self = *key;
	q->self_content = rec->content;
	if (!contents_are_ignored(q, rec->content, rec->content))
		err = content_has_copies(q, rec->content);
	if (!err && !q->caller->trusted)
		err = has_match(q, true, &count);
	if (!err && count)
		err = has_match(q, false, &count);
	return err;
}

/* 1: a file below the directory has a near-duplicate. */
static int directory_has_near(struct search_query *q,
			      const struct file_key *directory)
{
	struct key_list stack = { 0 };
	struct file_record rec;
	struct file_key key;
	int err = key_list_add(&stack, directory);

	while (!err && (err = key_list_next_file(q, &stack, &key, &rec)) == 1)
		err = has_near(q, &key, &rec);
	free(stack.keys);
	return err;
}

/* 1: the entry is shown. */
static int entry_has_near(struct search_query *q, int dir_fd, const char *name)
{
	struct file_identity identity;
	struct file_record rec;
	struct file_key key;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	source_get_entry_key(q->context->source, dir_fd, name, &st, &key);
	if (S_ISDIR(st.st_mode))
		return directory_has_near(q, &key);
	if (catalog_file_get(q->txn, &key, &rec))
		return 0;
	source_get_identity(&st, &identity);
	return file_identity_equal(&identity, &rec.identity) ?
		       has_near(q, &key, &rec) :
		       0;
}

static int by_name(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int list_names(int fd, struct search_paths *out)
{
	const char *name;
	DIR *names;
	int err = file_names_begin(fd, &names);

	if (err)
		return err;
	while (!err && (err = file_names_next(names, &name)) == 1)
		err = search_paths_add(out, name, strlen(name));
	closedir(names);
	if (out->count)
		qsort(out->paths, out->count, sizeof(*out->paths), by_name);
	return err;
}

/* Leaves out of all names those that are not shown. */
static int drop_names(struct search_query *q, int fd,
		      struct search_paths *names)
{
	size_t i, kept = 0;
	int err = 0;

	for (i = 0; i < names->count; i++) {
		char *name = names->paths[i];

		if (err >= 0)
			err = query_yield(q);
		if (err >= 0)
			err = entry_has_near(q, fd, name) ?: q->err;
		query_count_work(q, 1);
		if (err == 1)
			names->paths[kept++] = name;
		else
			free(name);
	}
	names->count = kept;
	return err < 0 ? err : 0;
}

static int browse_answer(struct search_query *q, struct search_paths *out)
{
	int fd = file_open_beneath(q->fd, "", O_RDONLY | O_DIRECTORY), err;
	struct file_key key;
	struct stat st;
	const char *path;

	if (fd < 0)
		return fd;
	err = list_names(fd, out) ?: query_begin_read(q);
	if (!err && fstat(fd, &st))
		err = -errno;
	if (!err) {
		source_get_key(q->context->source, fd, &st, &key);
		err = directory_find(q, &key, false, &path);
		q->live = err || !path_is_internal(path);
		err = err == -ENOENT ? 0 : err;
	}
	if (!err)
		err = drop_names(q, fd, out);
	close(fd);
	return err;
}

int search_browse(struct search_job *job, int fd, struct search_paths *out)
{
	struct search_paths names = { 0 };
	struct search_query q;
	int err;

	query_init(&q, job, fd);
	err = query_begin(&q) ?: browse_answer(&q, &names);
	err = query_end(&q, err, NULL);
	if (err)
		search_paths_release(&names);
	else
		*out = names;
	return err;
}
