/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/db.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

	(void)snprintf(db->code, sizeof(db->code), "%s", code ? code : "");
	keep_message(db, text ? text : PQresultErrorMessage(r));
	return PQstatus(db->conn) == CONNECTION_BAD ? -ECONNRESET : -EREMOTEIO;
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
	db->schema[0] = '\0';
	if (!db->conn)
		return fail(db, -ENOMEM);
	(void)PQsetNoticeProcessor(db->conn, drop_notice, NULL);
	err = PQstatus(db->conn) == CONNECTION_BAD ? -ECONNRESET :
						     connect_slowly(db);
	if (!err && PQsetnonblocking(db->conn, 1))
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

/* values NULL: it may be several statements. */
static int submit(struct share_db *db, const char *sql, int count,
		  const char *const *values)
{
	struct buf text = { 0 };
	size_t len;
	int err = 0;

	for (; *sql && !err; sql += len) {
		len = strcspn(sql, "@");
		err = buf_append(&text, sql, len);
		if (err || sql[len] != '@')
			continue;
		len++;
		err = buf_append_text(&text,
				      sql[len] == '@' ? "@" : db->schema);
		len += sql[len] == '@';
	}
	if (!err && !(values ? PQsendQueryParams(db->conn, text.data, count,
						 NULL, values, NULL, NULL, 0) :
			       PQsendQuery(db->conn, text.data)))
		err = -ECONNRESET;
	buf_release(&text);
	return err ? fail(db, err) : 0;
}

/* PQgetResult() that waits; NULL: the end of the statements that were sent. */
static int next_result(struct share_db *db, PGresult **out)
{
	int unsent, got;

	for (;;) {
		unsent = PQflush(db->conn);
		if (unsent < 0)
			return fail(db, -ECONNRESET);
		if (!PQisBusy(db->conn))
			break;
		got = wait_for(db, unsent ? POLLIN | POLLOUT : POLLIN);
		if (got < 0)
			return fail(db, got);
		if ((got & ~POLLOUT) && !PQconsumeInput(db->conn))
			return fail(db, -ECONNRESET);
	}
	*out = PQgetResult(db->conn);
	if (!*out && PQstatus(db->conn) == CONNECTION_BAD)
		return fail(db, -ECONNRESET);
	return 0;
}

/* In nonblocking mode libpq keeps what cannot be sent yet. */
static bool copy_rows(struct share_db *db, const struct buf *rows)
{
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";
	PGconn *conn = db->conn;

	return PQputCopyData(conn, head, sizeof(head)) == 1 &&
	       (!rows->len ||
		PQputCopyData(conn, rows->data, (int)rows->len) == 1) &&
	       PQputCopyData(conn, "\377\377", 2) == 1 &&
	       PQputCopyEnd(conn, NULL) == 1;
}

/* After a failure, too, all results are read. */
static int read_results(struct share_db *db, const struct buf *rows,
			size_t count, PGresult **out)
{
	PGresult *r = NULL, *last = NULL;
	size_t copied = 0;
	int lost, err = 0;

	while (!(lost = next_result(db, &r)) && r) {
		ExecStatusType status = PQresultStatus(r);

		if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
			PQclear(last);
			last = r;
			continue;
		}
		if (status != PGRES_COPY_IN)
			err = fail_by_result(db, r);
		else if (copied == count || !copy_rows(db, &rows[copied++]))
			lost = fail(db, -ECONNRESET);
		PQclear(r);
		if (lost || err == -ECONNRESET)
			break;
	}
	err = lost ? lost : err;
	if (!err && out)
		*out = last;
	else
		PQclear(last);
	return err;
}

int db_run(struct share_db *db, const char *sql, int count,
	   const char *const *values, PGresult **out)
{
	int err = submit(db, sql, count, values);

	return err ? err : read_results(db, NULL, 0, out);
}

int db_do(struct share_db *db, const char *format, ...)
{
	char *sql = NULL;
	va_list args;
	int err;

	va_start(args, format);
	if (vasprintf(&sql, format, args) < 0)
		sql = NULL;
	va_end(args);
	err = sql ? db_run(db, sql, 0, NULL, NULL) : fail(db, -ENOMEM);
	free(sql);
	return err;
}

int db_copy(struct share_db *db, const char *sql, const struct buf *rows,
	    size_t count)
{
	int err = submit(db, sql, 0, NULL);

	return err ? err : read_results(db, rows, count, NULL);
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
