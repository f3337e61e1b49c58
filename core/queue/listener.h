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

	/* To the scan: see scan_report_path(). */
	void (*report_path)(void *ctx, int fd, const struct file_key *key);

	/* Whether anybody wants to know what changes, and what a commit has
	 * changed, whose events the function may take. */
	bool (*is_watched)(void *ctx);
	void (*changed)(void *ctx, struct catalog_changes *changes);
};

#endif
