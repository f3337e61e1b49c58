/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/base/notify.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/share/share.h"

/* After a failure: longer each time, and never all hosts at once. */
enum { PAUSE_MS = 1000, PAUSE_MAX_MS = 60000, CONNECT_MS = 10000 };
/* Between two looks for changes; and between two for the host's row. */
enum { LOOK_MS = 1000, GREET_MS = 60000 };

struct publisher {
	struct share_options *options;
	struct session *sessions;
	struct share_report report;
	struct share_db db;
	unsigned pause_ms;
	int64_t greeted_ms;
	char said[700]; /* the last line on standard error */
};

static atomic_bool stop_flag;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop_flag, true);
}

static bool is_stopping(void)
{
	return atomic_load(&stop_flag);
}

static void wait_ms(unsigned ms)
{
	int64_t end = clock_now_ms() + ms;

	while (!is_stopping() && clock_now_ms() < end)
		(void)poll(NULL, 0, ms < 100 ? (int)ms : 100);
}

/* ---- messages ---- */

/* Prints a message unless the last one was equal. */
static void report(struct publisher *p, const char *what, const char *message)
{
	char line[sizeof(p->said)];

	(void)snprintf(line, sizeof(line), "%s: %s", what, message);
	if (strcmp(line, p->said) != 0)
		share_complain("%s", line);
	(void)snprintf(p->said, sizeof(p->said), "%s", line);
	(void)pthread_mutex_lock(&p->report.lock);
	(void)snprintf(p->report.message, sizeof(p->report.message), "%.*s",
		       (int)sizeof(p->report.message) - 1, message);
	(void)pthread_mutex_unlock(&p->report.lock);
	atomic_store(&p->report.is_connected, false);
	notify_service("STATUS=%s", line);
}

static void report_success(struct publisher *p)
{
	if (*p->said)
		share_complain("it works again");
	p->said[0] = '\0';
	p->pause_ms = PAUSE_MS;
	(void)pthread_mutex_lock(&p->report.lock);
	p->report.message[0] = '\0';
	(void)pthread_mutex_unlock(&p->report.lock);
	atomic_store(&p->report.is_connected, true);
}

static void show_progress(void *arg, uint64_t visited, uint64_t all)
{
	const struct publisher *p = arg;
	int percent = all ? (int)(100 * visited / all) : 100;

	if (percent > 100)
		percent = 100;
	notify_service("STATUS=publishing: %d %%", percent);
	if (!p->options->once || p->options->quiet || !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r[%-40.*s] %3d %% of %llu files", percent * 40 / 100,
		"########################################", percent,
		(unsigned long long)all);
	if (percent == 100)
		fputc('\n', stderr);
}

static const char *text_of(int err)
{
	if (err == -EBUSY)
		return "another kin-share publishes this catalog";
	if (err == -ENOENT)
		return "no catalog there, or its directory is gone";
	return err_text(err);
}

/* ---- one round ---- */

static bool is_of_database(int err)
{
	return err == -EREMOTEIO || err == -ECONNRESET || err == -ETIMEDOUT ||
	       err == -ENOTRECOVERABLE || err == -EMEDIUMTYPE;
}

static int connect_now(struct publisher *p)
{
	int64_t limit = 0;
	size_t i;
	int err = db_open(&p->db, p->options->conninfo, CONNECT_MS);

	if (!err)
		err = schema_check(&p->db, &limit);
	for (i = 0; i < p->options->catalog_count && !err; i++)
		if (p->sessions[i].catalog)
			err = session_greet(&p->sessions[i], &p->db, limit);
	p->greeted_ms = clock_now_ms();
	return err;
}

/* An idle connection does not see that the database was emptied. */
static bool is_to_greet(const struct publisher *p)
{
	return clock_now_ms() - p->greeted_ms > GREET_MS;
}

static int publish_one(struct publisher *p, struct session *s)
{
	int err = 0, tries;

	if (!s->catalog)
		err = session_open(s);
	if (!err && is_to_greet(p))
		err = -ESTALE;
	for (tries = 0; !err || err == -EAGAIN || err == -ESTALE; tries++) {
		if (tries == 3)
			return err ? err : -EAGAIN;
		if (err == -EAGAIN)
			err = session_open(s);
		else if (err == -ESTALE)
			err = session_greet(s, &p->db, s->feed.limit);
		if (!err)
			err = session_publish(s, &p->db);
		if (!err)
			return 0;
	}
	return err;
}

static int round_of_all(struct publisher *p)
{
	bool greeted = is_to_greet(p);
	size_t i;
	int err = 0;

	for (i = 0; i < p->options->catalog_count && !err; i++) {
		struct session *s = &p->sessions[i];

		err = publish_one(p, s);
		if (!err || err == -ECANCELED || is_of_database(err))
			continue;
		/* The others go on. */
		report(p, s->directory, text_of(err));
		if (!p->options->once)
			err = 0;
	}
	if (!err && greeted)
		p->greeted_ms = clock_now_ms();
	return err;
}

static void pause_after_failure(struct publisher *p)
{
	uint16_t random = 0;
	unsigned ms;

	(void)!getrandom(&random, sizeof(random), 0);
	ms = p->pause_ms / 2 + random % (p->pause_ms / 2 + 1);
	p->pause_ms *= 2;
	if (p->pause_ms > PAUSE_MAX_MS)
		p->pause_ms = PAUSE_MAX_MS;
	wait_ms(ms);
}

static int work_once(struct publisher *p)
{
	int err = p->db.conn ? 0 : connect_now(p);

	if (!err)
		atomic_store(&p->report.is_connected, true);
	if (!err)
		err = round_of_all(p);
	if (!err)
		report_success(p);
	if (err && is_of_database(err))
		report(p, "the database", p->db.message);
	if (err)
		db_close(&p->db);
	else
		notify_service("STATUS=everything is published");
	return err;
}

static int run(struct publisher *p)
{
	int err = 0;

	while (!is_stopping()) {
		err = work_once(p);
		if (p->options->once)
			break;
		if (err)
			pause_after_failure(p);
		else
			wait_ms(LOOK_MS);
	}
	return err && p->options->once ? SHARE_FAILED : SHARE_OK;
}

/* ---- the beginning and the end ---- */

static int open_sessions(struct publisher *p)
{
	size_t i;
	int err;

	for (i = 0; i < p->options->catalog_count; i++) {
		struct session *s = &p->sessions[i];

		s->directory = p->options->catalogs[i];
		s->rules = &p->options->rules;
		s->stop = &stop_flag;
		s->progress = show_progress;
		s->arg = p;
		err = session_open(s);
		if (!err && p->options->refill)
			err = session_refill(s);
		if (err) {
			share_complain("%s: %s", s->directory, text_of(err));
			return SHARE_FAILED;
		}
	}
	return SHARE_OK;
}

/* A kernel without Landlock is not told about. */
static void confine(const struct share_options *o)
{
	int err = share_confine(o);

	if (err && err != -ENOSYS && err != -EOPNOTSUPP)
		share_complain("it is not confined: %s", err_text(err));
}

static int serve_and_run(struct publisher *p)
{
	struct serve *serve = NULL;
	int code, err = 0;

	if (!p->options->once)
		err = serve_start(p->options, p->sessions, &p->report,
				  &stop_flag, &serve);
	if (err) {
		share_complain("cannot listen: %s", err_text(err));
		return SHARE_FAILED;
	}
	notify_service("READY=1");
	code = run(p);
	atomic_store(&stop_flag, true);
	notify_service("STOPPING=1");
	serve_stop(serve);
	return code;
}

int share_run_daemon(struct share_options *o)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct publisher p = { .options = o, .pause_ms = PAUSE_MS };
	size_t i;
	int code;

	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)pthread_mutex_init(&p.report.lock, NULL);
	p.db.stop = &stop_flag;
	p.sessions = calloc(o->catalog_count, sizeof(*p.sessions));
	if (!p.sessions)
		return SHARE_FAILED;
	code = open_sessions(&p);
	if (!code)
		confine(o);
	if (!code)
		code = serve_and_run(&p);
	db_close(&p.db);
	for (i = 0; i < o->catalog_count; i++)
		session_close(&p.sessions[i]);
	free(p.sessions);
	return code;
}
