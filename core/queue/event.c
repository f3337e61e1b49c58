/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue/event.h"

#include <stdlib.h>
#include <string.h>

#include "core/queue/queue.h"

struct event *event_new(enum event_kind kind, const struct file_key *key)
{
	struct event *ev = calloc(1, sizeof(*ev));

	if (!ev)
		return NULL;
	ev->kind = kind;
	if (key)
		ev->key = *key;
	return ev;
}

struct event *event_new_name(enum event_kind kind,
			     const struct file_key *parent, const char *name)
{
	struct event *ev = event_new(kind, NULL);

	if (!ev)
		return NULL;
	ev->parent = *parent;
	ev->name = strdup(name);
	if (ev->name)
		return ev;
	event_free(ev);
	return NULL;
}

void event_free(struct event *ev)
{
	if (!ev)
		return;
	result_free(ev->result);
	source_listing_free(ev->listing);
	if (ev->text)
		buf_release(&ev->text->kept);
	free(ev->text);
	free(ev->name);
	free(ev->new_name);
	free(ev);
}
