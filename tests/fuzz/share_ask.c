/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share/ask.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

#include "core/share/schema.h"
#include "tests/fuzz/fuzz.h"

/*
 * A request as kin-share takes it from a socket, and what a server answers to
 * the statements of that question, whether or not it is PostgreSQL's.
 *
 * The first line is the request.  Each other line is a row of a result, with a
 * tab between columns, \N for NULL and \V for the version of the tables that is
 * known here, which are the first result, or
 *
 *	|	begins a result of one column
 *	=	ends a result; as does the end of the input
 *	!	the statement fails
 *	~	the connection is lost
 *
 * These functions take the place of core/share/db.c.
 */
enum { COLUMNS = 8, RESULTS = 2000 };

static const char *at, *end;
static unsigned results; /* that were given */

static bool take_line(const char **line, size_t *len)
{
	const char *stop;

	if (at >= end)
		return false;
	stop = memchr(at, '\n', (size_t)(end - at));
	*line = at;
	*len = (size_t)((stop ? stop : end) - at);
	at = stop ? stop + 1 : end;
	return true;
}

/* A server may also send fewer columns than it was asked for. */
static int columns_of_next(void)
{
	const char *line;
	size_t len;

	if (at >= end || *at != '|')
		return COLUMNS;
	(void)take_line(&line, &len);
	return 1;
}

static PGresult *new_result(void)
{
	static char name[] = "column";
	PGresAttDesc columns[COLUMNS] = { 0 };
	PGresult *r = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
	size_t i;

	for (i = 0; i < COLUMNS; i++)
		columns[i].name = name;
	assert_non_null(r);
	assert_true(PQsetResultAttrs(r, columns_of_next(), columns));
	return r;
}

static void add_row(PGresult *r, int row, const char *line, size_t len)
{
	const char *stop, *tail = line + len;
	char value[4096];
	int column;
	size_t part;

	for (column = 0; column < PQnfields(r); column++) {
		stop = memchr(line, '\t', (size_t)(tail - line));
		part = (size_t)((stop ? stop : tail) - line);
		part = part < sizeof(value) ? part : sizeof(value) - 1;
		memcpy(value, line, part);
		value[part] = '\0';
		if (!strcmp(value, "\\V"))
			(void)snprintf(value, sizeof(value), "%d",
				       SHARE_VERSION);
		assert_true(PQsetvalue(r, row, column, value,
				       strcmp(value, "\\N") ? (int)part : -1));
		line = stop ? stop + 1 : tail;
	}
}

static int lose(struct share_db *db, int err)
{
	(void)snprintf(db->message, sizeof(db->message), "failed");
	(void)snprintf(db->code, sizeof(db->code), "42P01");
	return err;
}

static int read_result(struct share_db *db, PGresult **out)
{
	const char *line;
	size_t len;
	PGresult *r;
	int row = 0, err = 0;

	if (++results > RESULTS)
		return lose(db, -ETIMEDOUT);
	r = new_result();
	while (!err && take_line(&line, &len)) {
		if (len && *line == '=')
			break;
		if (len && (*line == '!' || *line == '~'))
			err = *line == '!' ? -EREMOTEIO : -ECONNRESET;
		else
			add_row(r, row++, line, len);
	}
	if (!err)
		*out = r;
	else
		PQclear(r);
	return err ? lose(db, err) : 0;
}

int db_run(struct share_db *db, const char *sql, int count,
	   const char *const *values, PGresult **out)
{
	PGresult *r = NULL;
	int err = read_result(db, &r);

	(void)sql;
	(void)count;
	(void)values;
	if (!err && out)
		*out = r;
	else
		PQclear(r);
	return err;
}

int db_open(struct share_db *db, const char *conninfo, unsigned timeout_ms)
{
	(void)db;
	(void)conninfo;
	(void)timeout_ms;
	return 0;
}

void db_close(struct share_db *db)
{
	(void)db;
}

void db_set_timeout(struct share_db *db, unsigned timeout_ms)
{
	db->deadline_ms = timeout_ms;
}

int db_do(struct share_db *db, const char *format, ...)
{
	return db_run(db, format, 0, NULL, NULL);
}

/* ---- the answer ---- */

static void check_hit(const json_t *line, json_int_t *score)
{
	const json_t *s = json_object_get(line, "score");

	if (!s)
		return;
	assert_in_range(json_integer_value(s), 1, 100);
	assert_true(json_integer_value(s) <= *score);
	*score = json_integer_value(s);
}

/* Lines of JSON, of which the last one alone ends the answer. */
static void check(const char *text, size_t len)
{
	const char *tail = text + len, *stop;
	json_int_t score = 100;
	bool ended = false;
	json_t *line;

	while (text < tail) {
		assert_false(ended);
		stop = memchr(text, '\n', (size_t)(tail - text));
		assert_non_null(stop);
		line = json_loadb(text, (size_t)(stop - text), 0, NULL);
		assert_true(json_is_object(line));
		ended = json_object_get(line, "end") != NULL;
		check_hit(line, &score);
		json_decref(line);
		text = stop + 1;
	}
	assert_true(ended);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct share_db db = { 0 };
	struct ask ask = { .db = &db, .wait_ms = 1000 };
	struct buf out = { 0 };
	json_t *request;
	const char *line = "";
	size_t part = 0;

	results = 0;
	at = (const char *)data;
	end = at + len;
	(void)take_line(&line, &part);
	request = json_loadb(line, part, 0, NULL);
	assert_int_equal(ask_answer(&ask, request, &out), 0);
	json_decref(request);
	check(out.data, out.len);
	buf_release(&out);
	return 0;
}
