/* SPDX-License-Identifier: Apache-2.0 */

/*
 * stress run MOUNT TWIN SEED WORKERS SECONDS [SOURCE]: random operations on
 * MOUNT and TWIN, which hold the same at the beginning.  With SOURCE the
 * daemon may be killed meanwhile; SOURCE is then compared with TWIN instead.
 *
 * stress digests MOUNT: every file has the digest of its content.
 *
 * stress churn MOUNT SEED OPERATIONS: so many small ones, nothing compared.
 *
 * Exits with 0 when all was well, 1 when not, 3 when the daemon died and all
 * was well with SOURCE.
 */
#include "tests/stress/stress.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS_MOST = 64, GLANCERS = 2, EXIT_DIED = 3, STUCK_SECONDS = 120 };

struct plan {
	const char *mount;
	const char *twin;
	const char *source;
	uint64_t seed;
	size_t workers;
	unsigned seconds;
};

static struct world *make_world(void)
{
	struct world *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t shared;

	if (w == MAP_FAILED)
		return NULL;
	(void)pthread_mutexattr_init(&shared);
	(void)pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	(void)pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
	for (size_t i = 0; i < GROUPS; i++)
		(void)pthread_mutex_init(&w->groups[i].lock, &shared);
	(void)pthread_mutexattr_destroy(&shared);
	return w;
}

static pid_t start(const struct plan *p, struct world *world, size_t number)
{
	struct worker w = {
		.world = world,
		.mount = { .root = p->mount, .is_mount = true },
		.twin = { .root = p->twin },
		.number = number,
		.random = p->seed * 1000 + number,
		.may_die = p->source != NULL,
	};
	pid_t pid = fork();

	if (pid)
		return pid;
	alarm(p->seconds + STUCK_SECONDS);
	if (number < p->workers)
		work(&w);
	else
		glance(&w);
	_exit(EXIT_SUCCESS);
}

/* A worker that was killed, by its alarm too, is a failure. */
static int wait_for(pid_t pid, bool may_die)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("stress: a worker");
		return -1;
	}
	/* A mapping of a file that nobody serves any more. */
	if (!WIFSIGNALED(status) || (may_die && WTERMSIG(status) == SIGBUS))
		return 0;
	fprintf(stderr, "stress: a worker was ended by: %s\n",
		strsignal(WTERMSIG(status)));
	return -1;
}

static double now_s(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* By the clock, as the alarms of the workers are. */
static void let_run(const struct plan *p, struct world *world)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	double end = now_s() + p->seconds;

	while (now_s() < end && !atomic_load(&world->stop))
		(void)nanosleep(&pause, NULL);
	atomic_store(&world->stop, true);
}

static void say_counts(const struct plan *p, const struct world *w)
{
	printf("seed %llu: %llu operations, %llu digests compared, %llu more "
	       "without a lock, %llu busy%s\n",
	       (unsigned long long)p->seed, w->operations, w->digests,
	       w->glances, w->busy, w->died ? ", the daemon died" : "");
}

static int run(const struct plan *p)
{
	struct world *world = make_world();
	pid_t pids[WORKERS_MOST + GLANCERS];
	int result = 0;

	if (!world || make_directories(p->mount) || make_directories(p->twin)) {
		perror("stress");
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < p->workers + GLANCERS; i++)
		pids[i] = start(p, world, i);
	let_run(p, world);
	for (size_t i = 0; i < p->workers + GLANCERS; i++)
		result |= wait_for(pids[i], world->died);
	say_counts(p, world);
	if (result || atomic_load(&world->failed))
		return EXIT_FAILURE;
	if (compare_trees(world, world->died ? p->source : p->mount, p->twin,
			  !world->died) != 0)
		return EXIT_FAILURE;
	return world->died ? EXIT_DIED : EXIT_SUCCESS;
}

static int check_digests(const char *mount)
{
	struct world *world = make_world();

	if (!world)
		return EXIT_FAILURE;
	return compare_trees(world, mount, mount, true) ? EXIT_FAILURE :
							  EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct plan p;

	if (argc == 3 && strcmp(argv[1], "digests") == 0)
		return check_digests(argv[2]);
	if (argc == 5 && strcmp(argv[1], "churn") == 0)
		return churn(argv[2], strtoull(argv[3], NULL, 10),
			     strtoull(argv[4], NULL, 10)) ?
			       EXIT_FAILURE :
			       EXIT_SUCCESS;
	if (argc < 7 || argc > 8 || strcmp(argv[1], "run") != 0) {
		fputs("usage: stress run MOUNT TWIN SEED WORKERS SECONDS "
		      "[SOURCE]\n       stress digests MOUNT\n"
		      "       stress churn MOUNT SEED OPERATIONS\n",
		      stderr);
		return 2;
	}
	p = (struct plan){
		.mount = argv[2],
		.twin = argv[3],
		.source = argv[7],
		.seed = strtoull(argv[4], NULL, 10),
		.workers = strtoull(argv[5], NULL, 10),
		.seconds = (unsigned)strtoul(argv[6], NULL, 10),
	};
	if (!p.workers || p.workers > WORKERS_MOST)
		return 2;
	return run(&p);
}
