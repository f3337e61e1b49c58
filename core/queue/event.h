/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_COMMIT_EVENT_H
#define CORE_COMMIT_EVENT_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/catalog/catalog.h"
#include "core/source/listing.h"

struct result;

/* A change that is to be written to the catalog; the comments name the fields
 * of struct event that are used. */
enum event_kind {
	EVENT_RESULT,       /* result: a file was hashed, or cannot be read */
	EVENT_PENDING,      /* key, identity: the file is to be hashed */
	EVENT_FORGET,       /* key: a rule excludes the file */
	EVENT_MISSED,       /* key: the file was not found */
	EVENT_METADATA,     /* key, before, identity: the ctime changed, the
			   content did not */
	EVENT_NAME_ADDED,   /* parent, name, key, directory */
	EVENT_NAME_REMOVED, /* parent, name */
	EVENT_NAME_MOVED,   /* parent, name, new_parent, new_name, exchange */
	EVENT_LISTING,      /* listing: the entries of a directory */
	EVENT_TEXT,         /* key, identity, text: of the file's content */
};

/* What became of the text of a content. */
struct text_result {
	struct content_text text;
	struct buf sketch; /* packed; TEXT_YES only */
};

struct event {
	struct event *next; /* the committer's */
	enum event_kind kind;
	struct file_key key;
	struct file_identity identity;
	struct file_identity before; /* EVENT_METADATA only */
	struct file_key parent, new_parent;
	bool directory, exchange;
	bool known;       /* EVENT_NAME_MOVED: key and directory are set */
	bool learned;     /* EVENT_NAME_ADDED: the name was read from disk */
	unsigned version; /* learned: commit_names_version() before reading */
	struct result *result;          /* owned */
	struct source_listing *listing; /* owned */
	struct text_result *text;       /* owned */
	char *name, *new_name;          /* owned */
};

/* All other fields are zero.  NULL: no memory. */
struct event *event_new(enum event_kind kind);
/* The same with parent and a copy of the name. */
struct event *event_new_name(enum event_kind kind,
			     const struct file_key *parent, const char *name);
void event_free(struct event *ev);

#endif
