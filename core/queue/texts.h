/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUEUE_TEXTS_H
#define CORE_QUEUE_TEXTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/catalog/catalog.h"
#include "core/queue/crew.h"
#include "core/queue/gate.h"
#include "core/queue/hash.h"

/*
 * Makes the texts of documents, and sketches of them, while no file is to be
 * hashed.
 *
 * One thread (crew.h) takes the contents whose text is pending in the catalog,
 * in the order of their ids, finds a file with that content, and gives its
 * descriptor to kin-extract (core/extract/client.h), which is a process of its
 * own that can do nothing but compute.  What comes back through a pipe goes into
 * a sketch, and the sketch to the committer.  A content that changes meanwhile
 * has another id, so nothing is lost but the work.
 *
 * A text that a query waits for is made first.
 *
 * A content that cannot be read now (its file is open for writing, or gone) is
 * passed over, and tried again later.
 *
 * The descriptor is the only thing that leaves this process, and a sketch of
 * the text the only thing that is kept.
 */
struct extract_client;
struct text_waiter;
struct extract_sketch;

struct text_reader {
	/* Both are borrowed and constant. */
	struct hasher *hasher;
	struct extract_client *client; /* NULL: no texts are made */
	pthread_mutex_t lock;          /* of these, down to crew */
	pthread_cond_t work, made;
	struct text_waiter *waiters; /* on the stacks of their threads */
	bool wanted;                 /* there may be pending texts */
	bool stopped;
	struct crew crew;

	/* Contents of the last pass that could not be read. */
	atomic_uint_least64_t passed_over;

	/* The thread's own. */
	uint32_t after; /* the pass has come to this content */
	bool is_again;  /* it is the first pass */
	uint64_t skipped;
	unsigned passes; /* that ended with texts still pending */
	struct gate gate;
	bool is_broken;                /* kin-extract could not be started */
	struct extract_sketch *sketch; /* owned */
};

int text_reader_init(struct text_reader *t, struct hasher *hasher,
		     struct extract_client *client);
void text_reader_start(struct text_reader *t);
/* The caller has set stopping of the hasher. */
void text_reader_stop(struct text_reader *t);
void text_reader_release(struct text_reader *t);

/* A commit may have added contents whose text is pending. */
void text_reader_wake(struct text_reader *t);

/* Has the text of a content made next, whatever is still to be hashed, and waits
 * until the committer has it, or until deadline_ms, or until the ticket (NULL:
 * none) is given up. */
void text_reader_wait(struct text_reader *t, uint32_t content,
		      int64_t deadline_ms, const struct queue_ticket *ticket);

/* Whether texts are still to be made, but for what was passed over. */
bool text_reader_is_busy(struct text_reader *t);

#endif
