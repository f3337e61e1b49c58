/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_LISTENER_H
#define CORE_QUEUE_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"

struct event;

/*
 * What the parts of the engine tell those above them.  A part calls the parts
 * below it directly (queue, scan, commit, search, in this order); what goes up
 * goes through the engine, which fills this in.  No function is called with a
 * lock held.
 */
struct engine_listener {
	void *ctx;

	/* To the committer: see commit_post(), which gets ev, and
	 * commit_names_version(), commit_settle(), commit_wait_room(),
	 * commit_wait_writable() and commit_hurry(). */
	int (*post)(void *ctx, struct event *ev);
	unsigned (*names_version)(void *ctx, const struct file_key *directory);
	int (*settle)(void *ctx);
	bool (*wait_room)(void *ctx);
	void (*wait_writable)(void *ctx);
	void (*hurry_commit)(void *ctx);
	/* Whether metadata changes were posted and are not committed. */
	bool (*has_metadata_changes)(void *ctx);

	/* To the scan: see scan_report_path(). */
	void (*report_path)(void *ctx, int fd, const struct file_key *key);

	/* To the search: a commit of all events up to that number has been
	 * tried. */
	void (*attempted)(void *ctx, uint64_t number);

	/* Whether anybody wants to know what changes, and what a commit has
	 * changed, whose events the function may take. */
	bool (*is_watched)(void *ctx);
	void (*changed)(void *ctx, struct catalog_changes *changes);

	/* The catalog may be damaged: if it is, has it replaced.  waits: until
	 * that is done; without a transaction. */
	void (*catalog_damaged)(void *ctx, bool waits);
};

#endif
