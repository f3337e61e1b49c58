/* SPDX-License-Identifier: Apache-2.0 */
#include "core/search/search_impl.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/source/file.h"

/*
 * Finds the entries of a directory that have a near-duplicate, or that have
 * such a file below them.
 */

/* 1: a content that resembles q->self_content has a visible file.  any: only
 * the first such content is looked at; *count_out is how many there are. */
static int has_match(struct search_query *q, bool any, size_t *count_out)
{
	const struct content_query wanted = { .any = any };
	struct index_match *matches;
	size_t i;
	int err = near_contents(q, &wanted, &matches, count_out);

	if (err)
		return err;
	for (i = 0; i < *count_out && !err; i++)
		if (!self_pair_is_ignored(q, matches[i].content))
			err = content_has_hit(q, matches[i].content);
	free(matches);
	return err;
}

/* 1: the file has a near-duplicate; 0: it has none.  For a caller that is not
 * trusted one match is searched for first, because it most often has a visible
 * file.  For others all are: the listing of the file, which often comes next,
 * needs them (match_cache.h). */
static int has_near(struct search_query *q, const struct file_key *key,
		    const struct file_record *rec)
{
	size_t count = 1;
	int err = 0;

	if (rec->state != FILE_FRESH || !rec->identity.size ||
	    !file_is_visible(q, key))
		return 0;
	q->self = *key;
	q->self_content = rec->content;
	if (!self_pair_is_ignored(q, rec->content))
		err = content_has_hit(q, rec->content);
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
static int entry_has_near(struct search_query *q, int dir_fd, const char *name,
			  bool *directory_out)
{
	struct file_identity identity;
	struct file_record rec;
	struct file_key key;
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return 0;
	source_get_entry_key(q->context->source, dir_fd, name, &st, &key);
	*directory_out = S_ISDIR(st.st_mode);
	if (*directory_out)
		return directory_has_near(q, &key);
	if (catalog_file_get(q->txn, &key, &rec))
		return 0;
	source_get_identity(&st, &identity);
	return file_identity_equal(&identity, &rec.identity) ?
		       has_near(q, &key, &rec) :
		       0;
}

/* Takes the name. */
static int entry_add(struct search_entries *entries, char *name)
{
	struct search_entry *all =
		array_with_room(entries->entries, entries->count, sizeof(*all));

	if (!all || !name) {
		free(name);
		return -ENOMEM;
	}
	entries->entries = all;
	all[entries->count++] = (struct search_entry){ .name = name };
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	const struct search_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Leaves out of all entries those that are not shown. */
static int drop_entries(struct search_query *q, int dir_fd,
			struct search_entries *entries)
{
	size_t i, kept = 0;
	int err = 0;

	for (i = 0; i < entries->count; i++) {
		struct search_entry *entry = &entries->entries[i];
		bool shown = false;

		if (err >= 0)
			err = query_yield(q);
		if (err >= 0)
			err = entry_has_near(q, dir_fd, entry->name, &entry->directory) ?:
				      q->err;
		shown = err == 1;
		query_count_work(q, 1);
		if (shown)
			entries->entries[kept++] = *entry;
		else
			free(entry->name);
	}
	entries->count = kept;
	return err < 0 ? err : 0;
}

static int browse_answer(struct search_query *q, struct search_entries *out)
{
	int fd = file_open_beneath(q->fd, "", O_RDONLY | O_DIRECTORY), err;
	const char *name;
	DIR *names;

	if (fd < 0)
		return fd;
	err = file_names_begin(fd, &names);
	if (!err) {
		while (!err && (err = file_names_next(names, &name)) == 1)
			err = entry_add(out, strdup(name));
		closedir(names);
	}
	if (!err)
		err = query_begin_read(q);
	if (!err)
		err = drop_entries(q, fd, out);
	close(fd);
	if (out->count)
		qsort(out->entries, out->count, sizeof(*out->entries),
		      compare_entries);
	return err;
}

int search_browse(struct search_job *job, int fd, struct search_entries *out)
{
	struct search_entries entries = { 0 };
	struct search_query q;
	int err = query_init(&q, job, fd);

	if (!err)
		err = query_begin(&q);
	if (!err)
		err = browse_answer(&q, &entries);
	err = query_end(&q, err);
	if (err)
		search_entries_release(&entries);
	else
		*out = entries;
	return err;
}
