/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commit/event.h"

#include <stdlib.h>

#include "core/queue/queue.h"

struct event *event_new(enum event_kind kind)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (ev)
		ev->kind = kind;
	return ev;
}

void event_free(struct event *ev)
{
	if (!ev)
		return;
	result_free(ev->result);
	source_listing_free(ev->listing);
	free(ev->name);
	free(ev->new_name);
	free(ev);
}
