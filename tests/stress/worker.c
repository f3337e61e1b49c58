/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stress/stress.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* For a moment the kernel goes on to answer what it knows, and a write may
 * have come half the way: the results alone do not say it. */
static bool has_died(const struct worker *w)
{
	struct statvfs fs;

	return w->may_die && statvfs(w->mount.root, &fs) != 0;
}

static void say_outcome(const char *side, const struct outcome *o)
{
	fprintf(stderr,
		"  %s: error %d (%s), value %lld, hash %016llx%016llx\n", side,
		o->error,
		o->error < 10000 ? strerrordesc_np(o->error) : "digest",
		(long long)o->value, (unsigned long long)o->hash[0],
		(unsigned long long)o->hash[1]);
}

static void complain(struct worker *w, const struct operation *op,
		     const struct step *s, const struct outcome *mount,
		     const struct outcome *twin)
{
	fprintf(stderr, "stress: worker %zu: %s %s %s, held %zu, writers %d\n",
		w->number, op->name, s->a, s->b, s->held, s->has_writers);
	say_outcome("mount", mount);
	say_outcome("twin", twin);
	atomic_store(&w->world->failed, true);
	atomic_store(&w->world->stop, true);
}

/* ---- one operation ---- */

static struct group *lock_group(struct worker *w, size_t number)
{
	struct group *g = &w->world->groups[number];

	if (pthread_mutex_lock(&g->lock) == EOWNERDEAD) {
		g->uncertain = true;
		(void)pthread_mutex_consistent(&g->lock);
	}
	atomic_fetch_add(&g->version, 1);
	return g;
}

static void unlock_group(struct group *g)
{
	atomic_fetch_add(&g->version, 1);
	(void)pthread_mutex_unlock(&g->lock);
}

static void set_unsynced(struct worker *w, struct group *g, size_t i, bool to)
{
	g->unsynced += to - w->held_unsynced[i];
	w->held_unsynced[i] = to;
}

static void note_held(struct worker *w, struct group *g,
		      const struct operation *op, const struct step *s,
		      const struct outcome *o)
{
	if (op->kind & HOLDS && !o->error) {
		w->held_open[s->held] = true;
		w->held_group[s->held] = s->group;
		w->held_writes[s->held] = o->value != O_RDONLY;
		g->writers += w->held_writes[s->held];
	}
	if (op->kind & WRITES && w->held_writes[s->held])
		set_unsynced(w, g, s->held, true);
	if (op->kind & (SYNCS | DROPS) && !o->error)
		set_unsynced(w, g, s->held, false);
	if (op->kind & DROPS) {
		g->writers -= w->held_writes[s->held];
		w->held_open[s->held] = false;
		w->held_writes[s->held] = false;
	}
}

static void count(struct world *world, const struct operation *op,
		  const struct outcome *o)
{
	atomic_fetch_add(&world->operations, 1);
	if (strcmp(op->name, "digest") != 0)
		return;
	if (!o->error)
		atomic_fetch_add(&world->digests, 1);
	else if (o->error == DIGEST_IS_BUSY)
		atomic_fetch_add(&world->busy, 1);
}

static void do_both(struct worker *w, const struct operation *op,
		    struct step *s)
{
	struct group *g = lock_group(w, s->group);
	struct outcome mount, twin;

	s->has_writers = g->writers > 0;
	mount = op->run(&w->mount, s);
	twin = op->run(&w->twin, s);
	if (mount.error == DIGEST_IS_BUSY || !outcomes_differ(&mount, &twin)) {
		note_held(w, g, op, s, &mount);
	} else if (has_died(w)) {
		g->uncertain = true;
		atomic_store(&w->world->died, true);
		atomic_store(&w->world->stop, true);
	} else {
		complain(w, op, s, &mount, &twin);
	}
	count(w->world, op, &mount);
	unlock_group(g);
}

/* ---- which ---- */

static const struct operation *choose(struct worker *w)
{
	unsigned total = 0, at;
	const struct operation *op;

	for (op = operations; op->run; op++)
		total += op->weight;
	assert(total > 0);
	at = (unsigned)(random_next(&w->random) % total);
	for (op = operations; at >= op->weight; op++)
		at -= op->weight;
	return op;
}

static void one_step(struct worker *w)
{
	const struct operation *op = choose(w);
	struct step s = { .held = random_next(&w->random) % HELD };

	if (!!(op->kind & ON_HELD) != w->held_open[s.held] &&
	    op->kind & (ON_HELD | HOLDS))
		return;
	s.group = op->kind & ON_HELD ? w->held_group[s.held] :
				       random_next(&w->random) % GROUPS;
	slot_name(s.group, random_next(&w->random) % SLOTS, s.a);
	slot_name(s.group, random_next(&w->random) % SLOTS, s.b);
	for (size_t i = 0; i < 4; i++)
		s.random[i] = random_next(&w->random);
	do_both(w, op, &s);
}

static const struct operation *find_operation(const char *name)
{
	const struct operation *op = operations;

	while (strcmp(op->name, name) != 0)
		op++;
	return op;
}

static void drop_all(struct worker *w)
{
	const struct operation *drop = find_operation("held close");

	for (size_t i = 0; i < HELD; i++) {
		struct step s = { .held = i, .group = w->held_group[i] };

		if (w->held_open[i])
			do_both(w, drop, &s);
	}
}

void work(struct worker *w)
{
	while (!atomic_load(&w->world->stop))
		one_step(w);
	/* What a dead daemon had of held files stays uncertain. */
	if (!atomic_load(&w->world->died))
		drop_all(w);
}

/* ---- those that do not lock ---- */

static void look(struct worker *w, const struct group *g, const char *name)
{
	char path[PATH_SIZE];
	unsigned version = atomic_load(&g->version);
	struct outcome content;
	uint64_t digest[2];
	int fd, error;

	slot_path(&w->mount, name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	error = digest_attribute(fd, digest);
	/* The digest may have waited for what changed before. */
	if (!error && hash_file(fd, &content) == 0 && version % 2 == 0 &&
	    version == atomic_load(&g->version)) {
		atomic_fetch_add(&w->world->glances, 1);
		if (memcmp(digest, content.hash, sizeof(digest)) != 0) {
			fprintf(stderr, "stress: %s: a digest is stale\n",
				path);
			atomic_store(&w->world->failed, true);
			atomic_store(&w->world->stop, true);
		}
	}
	close(fd);
}

void glance(struct worker *w)
{
	while (!atomic_load(&w->world->stop)) {
		size_t group = random_next(&w->random) % GROUPS;
		char name[NAME_SIZE];

		slot_name(group, random_next(&w->random) % SLOTS, name);
		look(w, &w->world->groups[group], name);
	}
}
