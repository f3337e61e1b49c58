/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/scan/scan_impl.h"

enum {
	RETRY_MIN_MS = 50, /* doubles with each try */
	RETRY_MAX_MS = 30000,
};

struct scan_retry {
	struct scan_retry *next;
	struct scan_request request;
	bool look_up; /* serve the request again; path is unused */
	int64_t due_ms;
	char path[]; /* of the directory to be read */
};

static void retry_free(struct scanner *s, struct scan_retry *r)
{
	atomic_fetch_sub(&s->early_retries, r->request.tries < EARLY_TRIES);
	atomic_fetch_sub(&s->deep_retries, r->request.deep);
	if (r->request.fd >= 0)
		close(r->request.fd);
	free(r);
}

/* Drops the retry of that key and kind; true: it was a deep one. */
static bool drop_retry(struct scanner *s, const struct file_key *key,
		       bool look_up)
{
	struct scan_retry **at = &s->retries, *found;
	bool deep;

	while (*at && (!file_key_equal(&(*at)->request.key, key) ||
		       (*at)->look_up != look_up))
		at = &(*at)->next;
	found = *at;
	if (!found)
		return false;
	deep = found->request.deep;
	*at = found->next;
	retry_free(s, found);
	return deep;
}

static void insert_retry(struct scanner *s, struct scan_retry *r)
{
	struct scan_retry **at = &s->retries;

	while (*at && (*at)->due_ms <= r->due_ms)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	atomic_fetch_add(&s->early_retries, r->request.tries < EARLY_TRIES);
	atomic_fetch_add(&s->deep_retries, r->request.deep);
}

int scan_retry_later(struct scanner *s, const char *path,
		     const struct scan_request *request)
{
	size_t size = path ? strlen(path) + 1 : 0;
	struct scan_retry *r = malloc(sizeof(*r) + size);
	unsigned tries = request->tries;
	int64_t delay_ms = tries < 9 ? RETRY_MIN_MS << tries : RETRY_MAX_MS;

	if (!r)
		return -ENOMEM;
	r->request = *request;
	r->look_up = !path;
	r->due_ms = clock_now_ms() + delay_ms;
	if (path)
		memcpy(r->path, path, size);
	r->request.deep |= drop_retry(s, &request->key, r->look_up);
	insert_retry(s, r);
	return 0;
}

static struct scan_retry *retry_take(struct scanner *s)
{
	struct scan_retry *r = s->retries;

	s->retries = r->next;
	return r;
}

int64_t scan_next_retry_ms(const struct scanner *s)
{
	return s->retries ? s->retries->due_ms : INT64_MAX;
}

void scan_serve_retries(struct scanner *s)
{
	int64_t now = clock_now_ms();

	while (scan_next_retry_ms(s) <= now && !scan_is_stopping(s)) {
		struct scan_retry *r = retry_take(s);
		struct scan_request *request = &r->request, again = *request;
		int err = 0;

		if (r->look_up) {
			request->fd = -1;
			again.tries++;
			scan_serve_request(s, &again);
		} else {
			err = scan_walk_again(s, r->path, &request->key,
					      request->tries + 1,
					      request->deep);
		}
		if (err)
			logger_print(s->context.log, "scan: %s", err_text(err));
		retry_free(s, r);
	}
}

void scan_drop_retries(struct scanner *s)
{
	while (s->retries)
		retry_free(s, retry_take(s));
}
