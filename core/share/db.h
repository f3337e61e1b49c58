/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_DB_H
#define CORE_SHARE_DB_H

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/*
 * A connection to the database, in libpq's pipeline mode for all of its life:
 * statements are sent one after the other without waiting, and their results
 * are read in that order.  A statement that fails ends all up to the next
 * db_sync(), which therefore also bounds a transaction.
 *
 * "@" in a statement stands for the schema of the tables, which is the current
 * one when the connection begins; "@@" for an "@".  A pooler may give each
 * transaction another session: nothing of a session is used in the next one.
 *
 * Nothing waits longer than the deadline, which the caller sets before it
 * sends.  After -ETIMEDOUT, -ECANCELED and -ECONNRESET the connection can only
 * be closed.  One thread at a time uses it.
 */
struct share_db {
	PGconn *conn; /* NULL: closed */
	int64_t deadline_ms;
	const atomic_bool *stop; /* NULL, or true: -ECANCELED */
	unsigned syncs;          /* sent, and not yet read */
	bool is_spread;    /* partitions on other servers; schema_check() */
	char schema[256];  /* of the tables, quoted, with a dot behind it */
	char message[512]; /* of the last failure, for people */
	char code[6];      /* its SQLSTATE, or "" */
};

/* From now; until it is set again. */
void db_set_timeout(struct share_db *db, unsigned timeout_ms);

/* conninfo: "service=kin", "host=... dbname=...", "postgresql://...". */
int db_open(struct share_db *db, const char *conninfo, unsigned timeout_ms);
void db_close(struct share_db *db);

/* 0 or a negative errno; values are borrowed, NULL is SQL's. */
int db_send(struct share_db *db, const char *sql, int count,
	    const char *const *values);
int db_sync(struct share_db *db);

/* The result of the next statement that was sent, for PQclear(): 0, or a
 * negative errno and no result.  -EREMOTEIO: the statement failed (message,
 * code); -ENOTRECOVERABLE: it was passed over, as one before it failed. */
int db_result(struct share_db *db, PGresult **out);

/* Reads and drops everything up to the last db_sync(). */
int db_drain(struct share_db *db);

/* One statement by itself: sent, synced, read.  out may be NULL. */
int db_run(struct share_db *db, const char *sql, int count,
	   const char *const *values, PGresult **out);

/* Begins a transaction that the server ends by itself when the client is
 * stopped or gone, and that does not wait for others without end. */
#define DB_BEGIN                                \
	"BEGIN;"                                \
	"SET LOCAL lock_timeout = '30s';"       \
	"SET LOCAL statement_timeout = '600s';" \
	"SET LOCAL idle_in_transaction_session_timeout = '20s'"

/* Several statements in one string, without values and results.  count of them
 * are COPY ... FROM STDIN and get these rows.  -EREMOTEIO: one failed, and those
 * behind it were passed over; db_roll_back() is to follow. */
int db_script(struct share_db *db, const char *sql, const struct buf *rows,
	      size_t count);

/* Ends a transaction in which a statement failed, and keeps the message. */
void db_roll_back(struct share_db *db);

/* Whether a transaction failed because of another one, and may be repeated. */
bool db_is_conflict(const struct share_db *db, int err);

/* ---- values as text ---- */

/* "" for NULL, and for a row or a column that the server did not send. */
const char *db_value(const PGresult *r, int row, int column);

#define DB_UUID_BYTES 16
#define DB_UUID_TEXT 36

void db_format_uuid(const uint8_t *uuid, char text[DB_UUID_TEXT + 1]);
/* -EINVAL. */
int db_parse_uuid(const char *text, uint8_t *uuid_out);

/* "\x..." to bytes: their number, at most room, or -EINVAL. */
ssize_t db_parse_bytes(const char *text, uint8_t *out, size_t room);

/* Arrays "{a,b}"; the first call begins one. */
int db_array_add(struct buf *array, const char *text);
int db_array_add_number(struct buf *array, int64_t number);
int db_array_add_uuid(struct buf *array, const uint8_t *uuid);
/* bytes NULL: SQL's NULL. */
int db_array_add_bytes(struct buf *array, const uint8_t *bytes, size_t len);
int db_array_end(struct buf *array);

#endif
