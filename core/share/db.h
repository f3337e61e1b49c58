/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_DB_H
#define CORE_SHARE_DB_H

#include <libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"

/*
 * A connection to the database.  "@" in a statement stands for the schema of
 * the tables, which is the current one when the connection begins; "@@" for an
 * "@".  A pooler may give each transaction another session of the server:
 * nothing of a session is used in the next transaction.
 *
 * Nothing waits longer than the deadline, which the caller sets before it
 * sends.  After -ETIMEDOUT, -ECANCELED and -ECONNRESET the connection can only
 * be closed.  One thread at a time uses it.
 */
struct share_db {
	PGconn *conn; /* NULL: closed */
	int64_t deadline_ms;
	const atomic_bool *stop; /* NULL, or true: -ECANCELED */
	char schema[256];  /* of the tables, quoted, with a dot behind it */
	char message[512]; /* of the last failure, for people */
	char code[6];      /* its SQLSTATE, or "" */
};

/* From now; until it is set again. */
void db_set_timeout(struct share_db *db, unsigned timeout_ms);

/* conninfo: "service=kin", "host=... dbname=...", "postgresql://...". */
int db_open(struct share_db *db, const char *conninfo, unsigned timeout_ms);
void db_close(struct share_db *db);

/* One statement, or without values several with semicolons between them; out,
 * which may be NULL, gets the last result for PQclear().  NULL among the values
 * is SQL's.  -EREMOTEIO: a statement failed (message, code), and those behind
 * it were passed over; in a transaction db_roll_back() is to follow. */
int db_run(struct share_db *db, const char *sql, int count,
	   const char *const *values, PGresult **out);

/* The same, by a format: of numbers, uuids and quoted names. */
int db_do(struct share_db *db, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Several statements.  count of them are COPY ... FROM STDIN (FORMAT binary)
 * and get these rows, which are without header and trailer. */
int db_copy(struct share_db *db, const char *sql, const struct buf *rows,
	    size_t count);

/* Ends a transaction in which a statement failed, and keeps the message. */
void db_roll_back(struct share_db *db);

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

/* The same to a string, to be freed; "" when the text is no such value. */
char *db_parse_string(const char *text);

/* Rows of ids and labels, to an object. */
struct json_t;
int db_take_labels(const PGresult *r, struct json_t *labels);

/* Arrays "{a,b}"; the first call begins one, and a failed one ends it. */
int db_array_add(struct buf *array, const char *text);
int db_array_add_number(struct buf *array, int64_t number);
int db_array_add_uuid(struct buf *array, const uint8_t *uuid);

#endif
