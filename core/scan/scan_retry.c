/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/scan/scan_impl.h"

enum {
	RETRY_MIN_MS = 50, /* doubles with each try */
	RETRY_MAX_MS = 30000,
	EARLY_TRIES = 4, /* after these nobody waits for the directory */
};

struct scan_retry {
	struct scan_retry *next;
	struct file_key key;
	unsigned tries;
	bool deep; /* with all below it */
	int64_t due_ms;
	char path[];
};

int scan_retry_later(struct scanner *s, const char *path,
		     const struct file_key *key, unsigned tries, bool deep)
{
	size_t size = strlen(path) + 1;
	struct scan_retry *r = malloc(sizeof(*r) + size), **at;
	int64_t delay_ms = tries < 9 ? RETRY_MIN_MS << tries : RETRY_MAX_MS;

	if (!r)
		return -ENOMEM;
	r->key = *key;
	r->tries = tries;
	r->deep = deep;
	r->due_ms = clock_now_ms() + delay_ms;
	memcpy(r->path, path, size);
	for (at = &s->retries; *at && (*at)->due_ms <= r->due_ms;)
		at = &(*at)->next;
	r->next = *at;
	*at = r;
	atomic_fetch_add(&s->early_retries, tries < EARLY_TRIES);
	return 0;
}

static struct scan_retry *retry_take(struct scanner *s)
{
	struct scan_retry *r = s->retries;

	s->retries = r->next;
	return r;
}

static void retry_free(struct scanner *s, struct scan_retry *r)
{
	atomic_fetch_sub(&s->early_retries, r->tries < EARLY_TRIES);
	free(r);
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
		int err = scan_walk_again(s, r->path, &r->key, r->tries + 1,
					  r->deep);

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
