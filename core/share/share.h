/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_SHARE_SHARE_H
#define CORE_SHARE_SHARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/share/schema.h"
#include "core/share/session.h"

/*
 * kin-share: one host's part in a catalog that many hosts share.
 *
 * It publishes the contents of catalogs to a database that speaks the protocol
 * of PostgreSQL, and asks it what other hosts have.  It is a program of its
 * own, the only one with libpq; the mount has no network.
 *
 *   session   one catalog, and the pass over it (session.h, feed.c)
 *   batch     what one transaction of the database gets (session.h)
 *   state     the host's name and what it published, in LMDB (session.h)
 *   ask       questions, and answers as lines of JSON (ask.h)
 *   schema    the tables and the statements (schema.h)
 *   db        the connection (db.h)
 *
 * The database is a cache.  Everything in it is keyed by content, each write
 * can be repeated and the order of writes does not matter; every host can fill
 * it again.  The catalog is never written to, nor is the tree.
 *
 * The main thread publishes.  A second one takes requests from the sockets of
 * the catalogs, and each of these has a thread; questions share one more
 * connection to the database, one at a time.
 *
 * It must never: keep a lock or a transaction of the catalog while it waits for
 * the network; tell of a file that the rules exclude; lose what the database
 * has of this host (session.h says how); or print a password.
 */
enum { SHARE_OK = 0, SHARE_FAILED = 1, SHARE_USAGE = 2 };

enum { SHARE_CATALOGS_MAX = 64 };

struct share_options {
	const char *conninfo;
	bool once;
	bool refill; /* everything is published again */
	bool quiet;  /* no progress bar */
	unsigned wait_ms;
	struct share_rules rules;
	struct share_schema schema;         /* of init */
	const char *operand;                /* the first */
	char *catalogs[SHARE_CATALOGS_MAX]; /* owned */
	size_t catalog_count;
};

/* "kin-share: ..." on standard error. */
void share_complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

/* The commands; they return the exit code. */
int share_run_daemon(struct share_options *o);
int share_run_init(struct share_options *o);
int share_run_check(struct share_options *o);
int share_run_forget(struct share_options *o);
int share_run_gc(struct share_options *o);
int share_run_ask(struct share_options *o);

/* ---- serve.c ---- */

struct share_daemon {
	const struct share_options *options;
	struct session *sessions; /* of the catalogs */
	atomic_bool *stop;
	/* What it tells about itself. */
	pthread_mutex_t lock; /* the message */
	char message[600];    /* why it is not connected; "": it is */
	atomic_bool is_connected;
};

struct serve;

/* Makes the sockets and starts the thread. */
int serve_start(struct share_daemon *d, struct serve **out);
/* After stop. */
void serve_stop(struct serve *s);

/* ---- confine.c ---- */

/* From here on the process writes nowhere but in the catalogs, reads these,
 * what libpq reads to connect and the system's own files, runs no other program
 * and has no capabilities.  Where the kernel has no Landlock, files are not
 * restricted (-ENOSYS, -EOPNOTSUPP). */
int share_confine(const struct share_options *o);

#endif
