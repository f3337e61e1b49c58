/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/changes_answer.h"

#include <errno.h>
#include <stdlib.h>

#include "fs/fs.h"
#include "fs/similar/query_text.h"

struct changes_answer {
	struct answer answer; /* first: it is cast to this */
	struct changes_watcher *watcher;
};

/* Adds changes while there is little text.  What is not read stays with the
 * watcher, which merges it. */
static void add_changes(struct answer *answer)
{
	enum { READ_AHEAD = 1 << 16 };
	struct changes_answer *a = (struct changes_answer *)answer;
	struct content_change change;
	int got = 1;

	pthread_mutex_lock(&answer->lock);
	while (got == 1 && !answer->ended && !answer->err &&
	       answer->text.len - answer->taken < READ_AHEAD) {
		got = changes_take(a->watcher, &change);
		if (got == 1) {
			answer->err =
				query_text_add_change(&change, &answer->text);
			free(change.path);
			free(change.from);
		} else if (got == -ECANCELED) {
			answer->ended = true;
			answer->err =
				query_text_add_end(false, false, &answer->text);
		} else {
			answer->err = got;
		}
	}
	pthread_mutex_unlock(&answer->lock);
}

/* A read waits only when there was no text. */
static void on_change(void *arg)
{
	struct answer *a = arg;
	bool wanted;

	pthread_mutex_lock(&a->lock);
	wanted = a->reader;
	pthread_mutex_unlock(&a->lock);
	if (!wanted)
		return;
	add_changes(a);
	answer_tell(a);
}

static void release(struct answer *answer)
{
	struct changes_answer *a = (struct changes_answer *)answer;

	changes_end(a->watcher);
	free(a);
}

static void cancel(struct answer *answer)
{
	(void)answer;
}

static const struct answer_kind changes_kind = { add_changes, cancel, release };

int changes_answer_new(struct fs *fs, const struct search_caller *caller,
		       struct search_paths *within, struct answer **out)
{
	struct changes_answer *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	answer_init(&a->answer, fs, &changes_kind, 1);
	a->answer.err =
		buf_append_text(&a->answer.text, "{\"watching\":true}\n");
	err = engine_watch_changes(fs->engine, caller, within, on_change, a,
				   &a->watcher);
	if (err) {
		pthread_mutex_destroy(&a->answer.lock);
		buf_release(&a->answer.text);
		free(a);
	} else {
		*out = &a->answer;
	}
	return err;
}
