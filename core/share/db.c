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

bool db_is_conflict(const struct share_db *db, int err)
{
	return err == -EREMOTEIO && !strncmp(db->code, "40", 2);
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

static int find_schema(struct share_db *db)
{
	PGresult *r = NULL;
	int err = db_run(db, "SELECT quote_ident(current_schema()) || '.'", 0,
			 NULL, &r);

	if (err)
		return err;
	(void)snprintf(db->schema, sizeof(db->schema), "%s", db_value(r, 0, 0));
	PQclear(r);
	if (*db->schema)
		return 0;
	keep_message(db, "no schema of the search_path is there");
	return -EREMOTEIO;
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
	db->schema[0] = '\0';
	if (!db->conn)
		return fail(db, -ENOMEM);
	(void)PQsetNoticeProcessor(db->conn, drop_notice, NULL);
	err = PQstatus(db->conn) == CONNECTION_BAD ? -ECONNRESET :
						     connect_slowly(db);
	if (!err &&
	    (PQsetnonblocking(db->conn, 1) || !PQenterPipelineMode(db->conn)))
		err = -ECONNRESET;
	if (err)
		(void)fail(db, err);
	else
		err = find_schema(db);
	if (err)
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

static int put_schema(const struct share_db *db, const char *sql,
		      struct buf *out)
{
	size_t len;
	int err = 0;

	while (*sql && !err) {
		len = strcspn(sql, "@");
		err = buf_append(out, sql, len);
		sql += len;
		if (*sql != '@' || err)
			continue;
		err = buf_append_text(out, sql[1] == '@' ? "@" : db->schema);
		sql += sql[1] == '@' ? 2 : 1;
	}
	return err;
}

int db_send(struct share_db *db, const char *sql, int count,
	    const char *const *values)
{
	struct buf text = { 0 };
	int err = put_schema(db, sql, &text);

	if (!err && !PQsendQueryParams(db->conn, text.data, count, NULL, values,
				       NULL, NULL, 0))
		err = -ECONNRESET;
	buf_release(&text);
	return err ? fail(db, err) : 0;
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

/* ---- scripts ---- */

/* The next result that is not the success of a statement, or NULL. */
static int next_of_script(struct share_db *db, PGresult **out)
{
	ExecStatusType status;
	int err;

	for (;;) {
		err = wait_for_result(db);
		if (err)
			return fail(db, err);
		*out = PQgetResult(db->conn);
		if (!*out)
			return 0;
		status = PQresultStatus(*out);
		if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
			return 0;
		PQclear(*out);
	}
}

static int send_rows(struct share_db *db, const struct buf *rows)
{
	return PQputCopyData(db->conn, rows->data, (int)rows->len) == 1 &&
	       PQputCopyEnd(db->conn, NULL) == 1;
}

/* After a failure, too, all is read. */
static int run_script(struct share_db *db, const struct buf *rows, size_t count)
{
	size_t copied = 0;
	PGresult *r = NULL;
	int lost, err = 0;

	while (!(lost = next_of_script(db, &r)) && r) {
		if (PQresultStatus(r) == PGRES_FATAL_ERROR)
			err = fail_by_result(db, r);
		else if (PQresultStatus(r) != PGRES_COPY_IN ||
			 copied == count || !send_rows(db, &rows[copied++]))
			lost = fail(db, -ECONNRESET);
		PQclear(r);
		if (lost)
			break;
	}
	return lost ? lost : err;
}

int db_script(struct share_db *db, const char *sql, const struct buf *rows,
	      size_t count)
{
	struct buf text = { 0 };
	int err = put_schema(db, sql, &text);

	/* libpq has neither COPY nor scripts in pipeline mode. */
	if (!err && (!PQexitPipelineMode(db->conn) ||
		     !PQsendQuery(db->conn, text.data)))
		err = -ECONNRESET;
	buf_release(&text);
	if (err)
		return fail(db, err);
	err = run_script(db, rows, count);
	if ((!err || err == -EREMOTEIO) && !PQenterPipelineMode(db->conn))
		err = fail(db, -ECONNRESET);
	return err;
}

void db_roll_back(struct share_db *db)
{
	struct share_db said = *db;

	if (PQtransactionStatus(db->conn) == PQTRANS_IDLE ||
	    db_run(db, "ROLLBACK", 0, NULL, NULL))
		return;
	memcpy(db->message, said.message, sizeof(said.message));
	memcpy(db->code, said.code, sizeof(said.code));
}
