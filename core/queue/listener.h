/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_LISTENER_H
#define CORE_QUEUE_LISTENER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"

/*
 * What the parts of the engine tell those above them.  A part calls the parts
 * below it directly (queue, scan, commit, search, in this order); what goes up
 * goes through the engine, which fills this in.  No function is called with a
 * lock held.
 */
struct engine_listener {
	void *ctx;

	/* To the scan: see scan_report_path(). */
	void (*report_path)(void *ctx, int fd, const struct file_key *key);

	/* At the beginning of a transaction: calls catalog_watch() if somebody
	 * follows the tree; NULL: nobody does.  And what its commit has changed:
	 * the function may take the events. */
	void (*watch)(void *ctx, struct catalog_txn *txn);
	void (*changed)(void *ctx, struct catalog_changes *changes);
};

struct event_list;
struct extract_client;
struct hasher;
struct index;
struct logger;
struct queue;
struct scanner;
struct source;
struct throttle;

/* The parts of the engine, for each other: a part calls those that are below it.
 * All pointers are borrowed. */
struct engine_parts {
	const struct source *source;
	struct catalog *catalog;
	struct index *index;
	struct throttle *throttle; /* NULL: the host is never busy */
	struct event_list *events;
	struct queue *queue;
	struct hasher *hasher;
	struct scanner *scan;
	const struct logger *log;
	const atomic_bool *stopping;
	const struct engine_listener *up;
	uint32_t digest_set; /* DIGEST_BIT()s that are computed */
	unsigned workers;    /* of each kind, but for the spare ones */
	/* For those that make the texts of documents; NULL: none are made. */
	const struct extract_client *extract;
};

#endif
