/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STRESS_STRESS_H
#define TESTS_STRESS_STRESS_H

/*
 * Random operations by several processes on a mount and, each at the same
 * moment, on a plain directory, its twin: both must say and hold the same.
 *
 * Names belong to groups.  An operation takes the lock of its group, so that
 * what comes of it does not depend on the others; files are linked, renamed
 * and exchanged within a group.  The names of a group lie in all directories,
 * which the groups so share.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GROUPS = 24,
	SLOTS = 6,
	DIRECTORIES = 5,
	HELD = 4,
	NAME_SIZE = 64,
	PATH_SIZE = 512,
	FILE_MOST = 300000,
};

/* A group's content is uncertain where the daemon was killed during an
 * operation; of a held file that was written and not synced, the bytes are. */
struct group {
	pthread_mutex_t lock;
	atomic_uint version; /* odd: an operation is under way */
	int writers;         /* files held open for writing; by lock */
	int unsynced;        /* of those, written since fsync(); by lock */
	bool uncertain;      /* by lock */
};

/* What all processes share. */
struct world {
	struct group groups[GROUPS];
	atomic_bool stop;
	atomic_bool died; /* the daemon */
	atomic_bool failed;
	atomic_ullong operations;
	atomic_ullong digests; /* compared under the lock */
	atomic_ullong glances; /* compared by those that do not lock */
	atomic_ullong busy;    /* no digest: open for writing */
};

/* One of the two that are compared. */
struct side {
	const char *root;
	bool is_mount;
	int held[HELD];
};

/* An operation, the same for both sides. */
struct step {
	char a[NAME_SIZE];
	char b[NAME_SIZE];
	size_t group;
	size_t held;
	uint64_t random[4];
	bool has_writers;
};

/* What came of it: error is an errno or 0, hash of what was read. */
struct outcome {
	int error;
	int64_t value;
	uint64_t hash[2];
};

static inline bool outcomes_differ(const struct outcome *a,
				   const struct outcome *b)
{
	return a->error != b->error || a->value != b->value ||
	       a->hash[0] != b->hash[0] || a->hash[1] != b->hash[1];
}

/* The error of a digest that is not that of the content. */
enum { DIGEST_IS_STALE = 10001, DIGEST_IS_MISSING, DIGEST_IS_BUSY };

struct operation {
	const char *name;
	unsigned weight;
	unsigned kind;
	struct outcome (*run)(struct side *side, const struct step *step);
};

enum {
	ON_NAMES = 0,
	HOLDS = 1,   /* opens what is held */
	ON_HELD = 2, /* works on what is held */
	WRITES = 4,  /* leaves a held file unsynced */
	SYNCS = 8,
	DROPS = 16,
};

extern const struct operation operations[];

/* ---- names.c ---- */

uint64_t random_next(uint64_t *state);
void slot_name(size_t group, size_t slot, char *name_out);
void slot_path(const struct side *side, const char *name, char *path_out);
int make_directories(const char *root);

/* ---- content.c ---- */

/* 0 or an errno; the hash is that of user.xxh128. */
int hash_file(int fd, struct outcome *out);
/* Of an open file of the mount: 0 and the digest, or an errno. */
int digest_attribute(int fd, uint64_t hash_out[2]);
struct outcome failed_with(int error);
struct outcome came_to(int64_t value);

/* ---- worker.c ---- */

struct worker {
	struct world *world;
	struct side mount;
	struct side twin;
	size_t number;
	uint64_t random;
	bool may_die;
	size_t held_group[HELD];
	bool held_open[HELD];
	bool held_writes[HELD];
	bool held_unsynced[HELD];
};

/* Until the world stops. */
void work(struct worker *w);
/* Reads digests without a lock, all the time. */
void glance(struct worker *w);

/* ---- compare.c ---- */

/* 0 when left and right hold the same, but for what is uncertain.  With
 * digests every file of left has the digest of its content. */
int compare_trees(const struct world *w, const char *left, const char *right,
		  bool digests);

/* ---- churn.c ---- */

/* So many operations on root; 0 when none failed as it must not. */
int churn(const char *root, uint64_t seed, uint64_t count);

#endif
