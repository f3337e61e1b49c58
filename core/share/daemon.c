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

#include "core/base/logger.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/share/share.h"

/* After a failure: longer each time, and never all hosts at once. */
enum { PAUSE_MS = 1000, PAUSE_MAX_MS = 60000, CONNECT_MS = 10000 };
/* Between two looks for changes; and between two for the host's row. */
enum { LOOK_MS = 1000, GREET_MS = 60000 };

struct publisher {
	struct share_daemon daemon;
	struct share_db db;
	int64_t greeted_ms;
	char said[700]; /* the last line on standard error */
};

static atomic_bool stop_flag;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&stop_flag, true);
}

static void wait_ms(unsigned ms)
{
	int64_t end = clock_now_ms() + ms;

	while (!atomic_load(&stop_flag) && clock_now_ms() < end)
		(void)poll(NULL, 0, ms < 100 ? (int)ms : 100);
}

/* message "": it works.  One that is equal to the last is not printed. */
static void report(struct publisher *p, const char *what, const char *message)
{
	char line[sizeof(p->said)] = "";

	if (*message)
		(void)snprintf(line, sizeof(line), "%s: %s", what, message);
	if (strcmp(line, p->said) != 0)
		share_complain("%s", *line ? line : "it works again");
	memcpy(p->said, line, sizeof(line));
	(void)pthread_mutex_lock(&p->daemon.lock);
	(void)snprintf(p->daemon.message, sizeof(p->daemon.message), "%.*s",
		       (int)sizeof(p->daemon.message) - 1, message);
	(void)pthread_mutex_unlock(&p->daemon.lock);
	atomic_store(&p->daemon.is_connected, !*message);
	notify_service("STATUS=%s", *line ? line : "everything is published");
}

/* Of the first filling. */
static void show_progress(const struct publisher *p, const struct session *s)
{
	int percent = s->all ? (int)(100 * s->visited / s->all) : 100;

	if (!s->is_full)
		return;
	if (percent > 100)
		percent = 100;
	notify_service("STATUS=publishing: %d %%", percent);
	if (!p->daemon.options->once || p->daemon.options->quiet ||
	    !isatty(STDERR_FILENO))
		return;
	fprintf(stderr, "\r[%-40.*s] %3d %% of %llu files", percent * 40 / 100,
		"########################################", percent,
		(unsigned long long)s->all);
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

static bool is_of_database(int err)
{
	return err == -EREMOTEIO || err == -ECONNRESET || err == -ETIMEDOUT ||
	       err == -EMEDIUMTYPE;
}

static int publish_one(struct publisher *p, struct session *s, bool greet)
{
	int tries, more, err = s->catalog ? 0 : session_open(s);

	if (!err && greet)
		err = -ESTALE;
	for (tries = 0; tries < 3; tries++) {
		if (err == -EAGAIN)
			err = session_open(s);
		else if (err == -ESTALE)
			err = session_greet(s, &p->db, s->limit);
		if (err)
			return err;
		do {
			more = session_publish(s, &p->db);
			if (more >= 0)
				show_progress(p, s);
		} while (more > 0);
		err = more;
		if (err != -EAGAIN && err != -ESTALE)
			return err;
	}
	return err;
}

/* A catalog that cannot be read does not keep the others from it. */
static int publish_all(struct publisher *p)
{
	/* An idle connection does not see that the database was emptied. */
	bool greet = clock_now_ms() - p->greeted_ms > GREET_MS;
	int err = 0, failed = 0;
	size_t i;

	for (i = 0; i < p->daemon.options->catalog_count; i++) {
		struct session *s = &p->daemon.sessions[i];

		err = publish_one(p, s, greet);
		if (err == -ECANCELED || is_of_database(err))
			return err;
		if (err)
			report(p, s->directory, text_of(err));
		failed = err ? err : failed;
	}
	if (greet)
		p->greeted_ms = clock_now_ms();
	if (!failed)
		report(p, "", "");
	return p->daemon.options->once ? failed : 0;
}

static int work_once(struct publisher *p)
{
	int64_t limit;
	size_t i;
	int err = 0;

	if (!p->db.conn) {
		err = db_open(&p->db, p->daemon.options->conninfo, CONNECT_MS);
		if (!err)
			err = schema_check(&p->db, &limit);
		for (i = 0; i < p->daemon.options->catalog_count && !err; i++)
			if (p->daemon.sessions[i].catalog)
				err = session_greet(&p->daemon.sessions[i],
						    &p->db, limit);
		p->greeted_ms = clock_now_ms();
	}
	if (!err)
		atomic_store(&p->daemon.is_connected, true);
	if (!err)
		err = publish_all(p);
	if (is_of_database(err))
		report(p, "the database", p->db.message);
	if (err)
		db_close(&p->db);
	return err;
}

/* The exit code. */
static int run(struct publisher *p)
{
	unsigned pause_ms = PAUSE_MS;
	uint16_t random = 0;
	int err = 0;

	while (!atomic_load(&stop_flag)) {
		err = work_once(p);
		if (p->daemon.options->once)
			return err ? SHARE_FAILED : SHARE_OK;
		if (!err) {
			pause_ms = PAUSE_MS;
			wait_ms(LOOK_MS);
			continue;
		}
		(void)!getrandom(&random, sizeof(random), 0);
		wait_ms(pause_ms / 2 + random % (pause_ms / 2 + 1));
		pause_ms = pause_ms < PAUSE_MAX_MS / 2 ? 2 * pause_ms :
							 PAUSE_MAX_MS;
	}
	return SHARE_OK;
}

static int open_sessions(struct publisher *p)
{
	size_t i;
	int err;

	for (i = 0; i < p->daemon.options->catalog_count; i++) {
		struct session *s = &p->daemon.sessions[i];

		s->directory = p->daemon.options->catalogs[i];
		s->rules = &p->daemon.options->rules;
		s->stop = &stop_flag;
		err = session_open(s);
		if (!err && p->daemon.options->refill)
			err = session_refill(s);
		if (err) {
			share_complain("%s: %s", s->directory, text_of(err));
			return SHARE_FAILED;
		}
	}
	return SHARE_OK;
}

int share_run_daemon(struct share_options *o)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct publisher p = { .daemon = { .options = o, .stop = &stop_flag } };
	struct serve *serve = NULL;
	size_t i;
	int err, code;

	(void)sigaction(SIGTERM, &action, NULL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)pthread_mutex_init(&p.daemon.lock, NULL);
	p.db.stop = &stop_flag;
	p.daemon.sessions =
		calloc(o->catalog_count, sizeof(*p.daemon.sessions));
	if (!p.daemon.sessions)
		return SHARE_FAILED;
	code = open_sessions(&p);
	if (code)
		goto out;
	/* A kernel without Landlock is not told about. */
	err = share_confine(o);
	if (err && err != -ENOSYS && err != -EOPNOTSUPP)
		share_complain("it is not confined: %s", err_text(err));
	err = o->once ? 0 : serve_start(&p.daemon, &serve);
	if (err) {
		share_complain("cannot listen: %s", err_text(err));
		code = SHARE_FAILED;
		goto out;
	}
	notify_service("READY=1");
	code = run(&p);
	atomic_store(&stop_flag, true);
	notify_service("STOPPING=1");
	serve_stop(serve);
out:
	db_close(&p.db);
	for (i = 0; i < o->catalog_count; i++)
		session_close(&p.daemon.sessions[i]);
	free(p.daemon.sessions);
	return code;
}
