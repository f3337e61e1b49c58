/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CONFORM_CONFORM_H
#define TESTS_CONFORM_CONFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Tests that do not know what is right: they make system calls in a directory
 * and write down what came of each, one line a result.  The same program runs
 * on a plain directory and on a mount, and the two texts are compared.  So a
 * line may hold nothing that differs between two directories of one kind:
 * no inode numbers, no clock, no paths from the root.
 *
 * Every test is a process of its own, in an empty directory of its own, with
 * umask 022.  It never stops early: what depends on a call that failed fails
 * as well, in the same way on both sides.
 *
 * TEST(name) comes before its body; the group is named as the file.  Names are
 * written with hyphens.
 */
#define TEST(name) TEST_NEEDS(name, false)

/* The test changes users, and has nothing to do where it cannot. */
#define TEST_AS_ROOT(name) TEST_NEEDS(name, true)

#define TEST_NEEDS(name, needs_root)                                          \
	static void test_##name(void);                                        \
	__attribute__((constructor)) static void add_##name(void)             \
	{                                                                     \
		test_add(__FILE__, __LINE__, #name, test_##name, needs_root); \
	}                                                                     \
	static void test_##name(void)

void test_add(const char *file, int line, const char *name, void (*run)(void),
	      bool needs_root);

/* ---- results ---- */

/* A line of its own: "what = result". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Make a call and write down its text and its result: the number or the name
 * of the error.  All give back the result.  TRY_FD and TRY_PTR say no more
 * than that there is one; ERR is for calls that return an error number.
 */
#define TRY(call) say_number(#call, (call))
#define TRY_FD(call) say_fd(#call, (call))
#define TRY_PTR(call) say_pointer(#call, (call))

/* The same, with something in front of the text that tells turns apart. */
#define TRY_AS(label, call) say_labelled(label, #call, (call))

/* The call, and then which times of one or two files it moved.  The files
 * are looked at before, and the clock ticks in between. */
#define TIMES(path, call)                     \
	do {                                  \
		struct stat before_;          \
		times_before(path, &before_); \
		say_number(#call, (call));    \
		times_after(path, &before_);  \
	} while (0)

long say_number(const char *step, long result);
int say_fd(const char *step, int fd);
void *say_pointer(const char *step, void *pointer);
long say_labelled(const char *label, const char *step, long result);

const char *error_name(int number);

void times_before(const char *path, struct stat *out);
void times_after(const char *path, const struct stat *before);

/* Type, mode, links, owner, group, size; not times. */
void show_stat(const char *path);
void show_fd(int fd);

/* Owner, size, 512-byte blocks, a checksum and the first bytes. */
void show_content(const char *path);

/* The names in a directory, sorted. */
void show_names(const char *path);

/* ---- files ---- */

/* What prepares a test: no line, and the test ends when it fails. */
#define NEED(call) need((call) == 0, #call)
void need(bool good, const char *what);

/* Makes or replaces a file; no lines. */
void make_file(const char *path, const char *content, mode_t mode);
/* Of this many bytes that depend on the seed. */
void make_bytes(const char *path, size_t size, unsigned seed);
void fill_bytes(void *data, size_t size, unsigned seed);

/* The same file past the mount, where there is one.  Static memory, two
 * deep. */
const char *behind(const char *path);

/* Returns when a change made now has another time than one made before. */
void tick(void);

/* Returns when the filesystem has room again: on a mount, what was removed is
 * given back a moment later. */
void wait_for_room(const char *path);

/* ---- users and processes ---- */

struct user {
	const char *name;
	uid_t uid;
	gid_t gid;
	gid_t groups[2];
	size_t group_count;
};

extern const struct user root, alice, bob;
#define SHARED_GROUP 4200 /* both are in it */

/* From now on; only with NEEDS_ROOT. */
void be(const struct user *user);

/* Runs it in another process and waits for that. */
void in_child(void (*run)(void));

/*
 * Another process that takes turns with this one: go() lets it run and returns
 * when it calls stop() or ends; partner_end() ends one that waits in stop().
 * One at a time.
 */
struct partner {
	pid_t pid;
	int to;
	int from;
};

void partner_start(struct partner *p, void (*run)(struct partner *self));
void go(struct partner *p);
void go_on(struct partner *p); /* and do not wait for it */
void stop(struct partner *self);
void partner_end(struct partner *p);

#endif
