/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/db.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"

/* Between two looks whether it is to stop. */
enum { LOOK_MS = 100 };

void db_set_timeout(struct share_db *db, unsigned timeout_ms)
{
	db->deadline_ms = clock_now_ms() + timeout_ms;
}

/* ---- messages ---- */

/* The first line: what follows are hints for a terminal. */
static void keep_message(struct share_db *db, const char *text)
{
	size_t len = strcspn(text, "\n");

	(void)snprintf(db->message, sizeof(db->message), "%.*s", (int)len,
		       text);
}

static int fail(struct share_db *db, int err)
{
	db->code[0] = '\0';
	if (err == -ETIMEDOUT)
		keep_message(db, "no answer in time");
	else if (err == -ENOMEM)
		keep_message(db, "not enough memory");
	else if (err == -ECANCELED)
		keep_message(db, "stopped");
	else
		keep_message(db, PQerrorMessage(db->conn));
	return err;
}

/* Keeps what the server says of a statement. */
static int fail_by_result(struct share_db *db, const PGresult *r)
{
	const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
	const char *code = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	if (PQresultStatus(r) == PGRES_PIPELINE_ABORTED)
		return -ENOTRECOVERABLE;
	(void)snprintf(db->code, sizeof(db->code), "%s", code ? code : "");
	keep_message(db, text ? text : PQresultErrorMessage(r));
	return PQstatus(db->conn) == CONNECTION_BAD ? -ECONNRESET : -EREMOTEIO;
}

bool db_is_passing(const struct share_db *db, int err)
{
	static const char *const classes[] = { "08", "40", "53", "57" };
	size_t i;

	if (err != -EREMOTEIO)
		return err == -ECONNRESET || err == -ETIMEDOUT;
	for (i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strncmp(db->code, classes[i], 2))
			return true;
	return false;
}

/* ---- waiting ---- */

static int wait_for(struct share_db *db, short events)
{
	struct pollfd p = { .fd = PQsocket(db->conn), .events = events };
	int64_t left;
	int n;

	do {
		if (db->stop && atomic_load(db->stop))
			return -ECANCELED;
		left = db->deadline_ms - clock_now_ms();
		if (left <= 0)
			return -ETIMEDOUT;
		n = poll(&p, 1, left < LOOK_MS ? (int)left : LOOK_MS);
	} while (!n || (n < 0 && errno == EINTR));
	return n < 0 ? -errno : p.revents;
}

/* Until PQgetResult() does not block. */
static int wait_for_result(struct share_db *db)
{
	int unsent, got;

	for (;;) {
		unsent = PQflush(db->conn);
		if (unsent < 0)
			return -ECONNRESET;
		if (!PQisBusy(db->conn))
			return 0;
		got = wait_for(db, unsent ? POLLIN | POLLOUT : POLLIN);
		if (got < 0)
			return got;
		if ((got & ~POLLOUT) && !PQconsumeInput(db->conn))
			return -ECONNRESET;
	}
}

/* ---- connecting ---- */

/* libpq would print it: whatever the server says, as often as it likes. */
static void drop_notice(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

static int connect_slowly(struct share_db *db)
{
	PostgresPollingStatusType step = PGRES_POLLING_WRITING;
	int got;

	while (step == PGRES_POLLING_READING || step == PGRES_POLLING_WRITING) {
		got = wait_for(db, step == PGRES_POLLING_READING ? POLLIN :
								   POLLOUT);
		if (got < 0)
			return got;
		step = PQconnectPoll(db->conn);
	}
	return step == PGRES_POLLING_OK ? 0 : -ECONNRESET;
}

int db_open(struct share_db *db, const char *conninfo, unsigned timeout_ms)
{
	const char *const names[] = { "dbname", "fallback_application_name",
				      "client_encoding", NULL };
	const char *const values[] = { conninfo, "kin-share", "UTF8", NULL };
	int err;

	db_set_timeout(db, timeout_ms);
	db->conn = PQconnectStartParams(names, values, 1);
	db->syncs = 0;
	db->prepared = db->has_temporary = false;
	if (!db->conn)
		return fail(db, -ENOMEM);
	(void)PQsetNoticeProcessor(db->conn, drop_notice, NULL);
	err = PQstatus(db->conn) == CONNECTION_BAD ? -ECONNRESET :
						     connect_slowly(db);
	if (!err &&
	    (PQsetnonblocking(db->conn, 1) || !PQenterPipelineMode(db->conn)))
		err = -ECONNRESET;
	if (!err)
		return 0;
	(void)fail(db, err);
	db_close(db);
	return err;
}

void db_close(struct share_db *db)
{
	if (db->conn)
		PQfinish(db->conn);
	db->conn = NULL;
}

/* ---- statements ---- */

int db_send(struct share_db *db, const char *sql, int count,
	    const char *const *values)
{
	if (!PQsendQueryParams(db->conn, sql, count, NULL, values, NULL, NULL,
			       0))
		return fail(db, -ECONNRESET);
	return 0;
}

int db_send_prepared(struct share_db *db, const char *name, int count,
		     const char *const *values)
{
	if (!PQsendQueryPrepared(db->conn, name, count, values, NULL, NULL, 0))
		return fail(db, -ECONNRESET);
	return 0;
}

int db_sync(struct share_db *db)
{
	if (!PQpipelineSync(db->conn))
		return fail(db, -ECONNRESET);
	db->syncs++;
	return 0;
}

/* The next result of any kind, ends of statements left out. */
static int next_result(struct share_db *db, PGresult **out)
{
	PGresult *r;
	int err;

	do {
		err = wait_for_result(db);
		if (err)
			return fail(db, err);
		r = PQgetResult(db->conn);
		if (!r && PQstatus(db->conn) == CONNECTION_BAD)
			return fail(db, -ECONNRESET);
	} while (!r);
	*out = r;
	return 0;
}

int db_result(struct share_db *db, PGresult **out)
{
	ExecStatusType status;
	PGresult *r;
	int err;

	do {
		err = next_result(db, &r);
		if (err)
			return err;
		status = PQresultStatus(r);
		if (status == PGRES_PIPELINE_SYNC) {
			db->syncs--;
			PQclear(r);
		}
	} while (status == PGRES_PIPELINE_SYNC);
	if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
		*out = r;
		return 0;
	}
	err = fail_by_result(db, r);
	PQclear(r);
	return err;
}

int db_drain(struct share_db *db)
{
	PGresult *r;
	int err = 0;

	while (db->syncs && !err) {
		err = next_result(db, &r);
		if (err)
			break;
		if (PQresultStatus(r) == PGRES_PIPELINE_SYNC)
			db->syncs--;
		PQclear(r);
	}
	return err;
}

int db_run(struct share_db *db, const char *sql, int count,
	   const char *const *values, PGresult **out)
{
	PGresult *r = NULL;
	int lost, err = db_send(db, sql, count, values);

	if (!err)
		err = db_sync(db);
	if (!err)
		err = db_result(db, &r);
	if (!err || err == -EREMOTEIO) {
		lost = db_drain(db);
		err = err ? err : lost;
	}
	if (!err && out)
		*out = r;
	else
		PQclear(r);
	return err;
}

/* ---- copies ---- */

int db_copy_begin(struct share_db *db, const char *sql)
{
	/* libpq has no COPY in pipeline mode. */
	if (!PQexitPipelineMode(db->conn) || !PQsendQuery(db->conn, sql))
		return fail(db, -ECONNRESET);
	return 0;
}

/* The last rows are kept. */
static void keep_rows(PGresult *r, PGresult **rows_out)
{
	if (!rows_out || PQresultStatus(r) != PGRES_TUPLES_OK) {
		PQclear(r);
		return;
	}
	PQclear(*rows_out);
	*rows_out = r;
}

/* A COPY that was not asked for would never end. */
static bool is_expected(ExecStatusType status, bool to_copy)
{
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK ||
	       status == PGRES_FATAL_ERROR ||
	       (status == PGRES_COPY_IN && to_copy);
}

/* Results up to the next COPY, or all of them.  After a failure, too, all are
 * read. */
static int read_on(struct share_db *db, bool to_copy, PGresult **rows_out)
{
	ExecStatusType status;
	PGresult *r;
	int err = 0, lost;

	for (;;) {
		lost = wait_for_result(db);
		if (lost)
			return fail(db, lost);
		r = PQgetResult(db->conn);
		if (!r)
			break;
		status = PQresultStatus(r);
		if (status == PGRES_FATAL_ERROR && !err)
			err = fail_by_result(db, r);
		keep_rows(r, rows_out);
		if (!is_expected(status, to_copy && !err))
			return fail(db, -ECONNRESET);
		if (status == PGRES_COPY_IN)
			return 0;
	}
	if (PQstatus(db->conn) == CONNECTION_BAD ||
	    !PQenterPipelineMode(db->conn))
		return fail(db, -ECONNRESET);
	return err || !to_copy ? err : fail(db, -ECONNRESET);
}

int db_copy_next(struct share_db *db, PGresult **rows_out)
{
	return read_on(db, true, rows_out);
}

int db_copy_send(struct share_db *db, const struct buf *rows)
{
	if (PQputCopyData(db->conn, rows->data, (int)rows->len) != 1 ||
	    PQputCopyEnd(db->conn, NULL) != 1)
		return fail(db, -ECONNRESET);
	return 0;
}

int db_copy_end(struct share_db *db)
{
	return read_on(db, false, NULL);
}
