/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 100000
#define STEP 1000 /* of the places that are sought */

/* ---- directories of numbered files ---- */

static void name_of(char *out, size_t size, unsigned number)
{
	snprintf(out, size, "file-%05u", number);
}

/* Past the mount, which is what takes the time. */
static void make_many(const char *path, unsigned from, unsigned to)
{
	int dir = open(behind(path), O_RDONLY | O_DIRECTORY);
	char name[32];

	for (unsigned i = from; i < to; i++) {
		name_of(name, sizeof(name), i);
		NEED(mknodat(dir, name, S_IFREG | 0644, 0));
	}
	close(dir);
}

static unsigned remove_some(const char *path, unsigned from, unsigned to,
			    unsigned step)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY);
	unsigned removed = 0;
	char name[32];

	for (unsigned i = from; i < to; i += step) {
		name_of(name, sizeof(name), i);
		removed += unlinkat(dir, name, 0) == 0;
	}
	close(dir);
	return removed;
}

/* How often each was seen. */
struct seen {
	unsigned char *times;
	unsigned others;
};

static void see(struct seen *s, const char *name)
{
	unsigned number;
	char tail;

	if (sscanf(name, "file-%5u%c", &number, &tail) == 1 && number < MANY &&
	    s->times[number] < 255)
		s->times[number]++;
	else
		s->others++;
}

static void see_rest(struct seen *s, DIR *dir)
{
	const struct dirent *d;

	while ((d = readdir(dir)))
		see(s, d->d_name);
}

/* Of those from..to by step: how many were seen once, and how many more
 * often. */
static void show_seen(const char *what, const struct seen *s, unsigned from,
		      unsigned to, unsigned step)
{
	unsigned once = 0;
	unsigned more = 0;

	for (unsigned i = from; i < to; i += step) {
		once += s->times[i] == 1;
		more += s->times[i] > 1;
	}
	say("%s = %u once, %u more often", what, once, more);
}

static struct seen seen_new(void)
{
	struct seen s = { .times = calloc(MANY, 1) };

	need(s.times != NULL, "memory");
	return s;
}

/* ---- one reader ---- */

TEST(small)
{
	DIR *dir;

	NEED(mkdir("d", 0755));
	show_names("d");
	make_file("d/a", "", 0644);
	NEED(mkdir("d/b", 0755));
	NEED(symlink("a", "d/c"));
	show_names("d");
	show_names("d/a");
	show_names("nosuch");
	dir = TRY_PTR(opendir("d"));
	TRY(closedir(dir));
	TRY_PTR(opendir("d/a"));
	TRY_PTR(opendir("d/nosuch"));
	TRY_PTR(opendir(""));
	TRY_PTR(fdopendir(open("d/a", O_RDONLY)));
	TRY_PTR(fdopendir(open("d", O_RDONLY)));
}

TEST(types)
{
	const struct dirent *d;
	struct stat st;
	DIR *dir;
	char types[8] = "";

	make_file("a", "", 0644);
	NEED(mkdir("b", 0755));
	NEED(symlink("nosuch", "c"));
	NEED(mkfifo("d", 0644));
	NEED(link("a", "e"));
	dir = TRY_PTR(opendir("."));
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || lstat(d->d_name, &st) != 0)
			continue;
		types[d->d_name[0] - 'a'] = (char)('0' + d->d_type);
		if (d->d_ino != st.st_ino)
			say("number of %s = not that of stat", d->d_name);
	}
	say("types = %s", types);
}

/* Every entry once, at every place the reader could stop and come back. */
TEST_AS_ROOT(seek)
{
	char names[MANY / STEP][NAME_MAX + 1];
	long places[MANY / STEP];
	struct seen s = seen_new();
	const struct dirent *d;
	unsigned count = 0;
	unsigned equal = 0;
	unsigned places_count = 0;
	DIR *dir;

	NEED(mkdir("d", 0755));
	make_many("d", 0, MANY);
	dir = TRY_PTR(opendir("d"));
	while (dir && places_count < MANY / STEP) {
		long place = telldir(dir);

		d = readdir(dir);
		if (!d)
			break;
		see(&s, d->d_name);
		if (count++ % STEP)
			continue;
		places[places_count] = place;
		snprintf(names[places_count++], NAME_MAX + 1, "%s", d->d_name);
	}
	see_rest(&s, dir);
	show_seen("entries", &s, 0, MANY, 1);
	say("other entries = %u", s.others);
	for (unsigned i = places_count; i-- > 0;) {
		seekdir(dir, places[i]);
		d = readdir(dir);
		equal += d && strcmp(d->d_name, names[i]) == 0;
	}
	say("places found again = %u of %u", equal, places_count);
	rewinddir(dir);
	memset(s.times, 0, MANY);
	see_rest(&s, dir);
	show_seen("entries after rewinddir", &s, 0, MANY, 1);
	TRY(closedir(dir));
	free(s.times);
}

/* ---- while the directory changes ---- */

static void read_some(struct seen *s, DIR *dir, unsigned count)
{
	const struct dirent *d;

	while (count-- && (d = readdir(dir)))
		see(s, d->d_name);
}

#define CHANGED 2000

/* What stays is seen once, what goes or comes at most once. */
TEST(removed)
{
	struct seen s = seen_new();
	DIR *dir;

	NEED(mkdir("d", 0755));
	make_many("d", 0, CHANGED);
	dir = TRY_PTR(opendir("d"));
	read_some(&s, dir, 100);
	TRY(remove_some("d", 0, CHANGED, 2));
	see_rest(&s, dir);
	show_seen("those that stay", &s, 1, CHANGED, 2);
	rewinddir(dir);
	memset(s.times, 0, MANY);
	see_rest(&s, dir);
	show_seen("those that went", &s, 0, CHANGED, 2);
	show_seen("those that stay", &s, 1, CHANGED, 2);
	TRY(closedir(dir));
	TRY(remove_some("d", 1, CHANGED, 2));
	TRY(rmdir("d"));
}

TEST(added)
{
	struct seen s = seen_new();
	char name[32];
	DIR *dir;

	NEED(mkdir("d", 0755));
	make_many("d", 0, CHANGED);
	dir = TRY_PTR(opendir("d"));
	read_some(&s, dir, 100);
	for (unsigned i = CHANGED; i < CHANGED + 2000; i++) {
		snprintf(name, sizeof(name), "d/file-%05u", i);
		close(open(name, O_WRONLY | O_CREAT, 0644));
	}
	see_rest(&s, dir);
	show_seen("those that were there", &s, 0, CHANGED, 1);
	rewinddir(dir);
	memset(s.times, 0, MANY);
	see_rest(&s, dir);
	show_seen("all", &s, 0, CHANGED + 2000, 1);
}

TEST(renamed)
{
	struct seen s = seen_new();
	char from[32];
	char to[32];
	DIR *dir;

	NEED(mkdir("d", 0755));
	make_many("d", 0, CHANGED);
	dir = TRY_PTR(opendir("d"));
	read_some(&s, dir, 100);
	for (unsigned i = 0; i < CHANGED; i += 2) {
		snprintf(from, sizeof(from), "d/file-%05u", i);
		snprintf(to, sizeof(to), "d/gone-%05u", i);
		NEED(rename(from, to));
	}
	see_rest(&s, dir);
	show_seen("those that stay", &s, 1, CHANGED, 2);
	rewinddir(dir);
	memset(s.times, 0, MANY);
	see_rest(&s, dir);
	show_seen("the old names", &s, 0, CHANGED, 2);
}

/* Removing what is read while it is read, as rm -r does. */
TEST(emptied)
{
	const struct dirent *d;
	unsigned removed = 0;
	DIR *dir;

	NEED(mkdir("d", 0755));
	make_many("d", 0, CHANGED);
	dir = TRY_PTR(opendir("d"));
	while (dir && (d = readdir(dir)))
		removed += unlinkat(dirfd(dir), d->d_name, 0) == 0;
	TRY(removed);
	TRY(closedir(dir));
	TRY(rmdir("d"));
}

TEST(two_readers)
{
	struct seen a = seen_new();
	struct seen b = seen_new();
	DIR *one;
	DIR *two;

	NEED(mkdir("d", 0755));
	make_many("d", 0, 2000);
	one = TRY_PTR(opendir("d"));
	two = TRY_PTR(opendir("d"));
	for (int i = 0; i < 30; i++) {
		read_some(&a, one, 100);
		read_some(&b, two, 70);
	}
	see_rest(&b, two);
	show_seen("one", &a, 0, 2000, 1);
	show_seen("two", &b, 0, 2000, 1);
}

TEST_AS_ROOT(permission)
{
	static const mode_t modes[] = { 0700, 0711, 0744, 0755, 0700 };
	struct stat st;
	DIR *dir;

	NEED(mkdir("d", 0755));
	make_file("d/f", "", 0644);
	dir = opendir("d");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		be(&root);
		NEED(chmod("d", modes[i]));
		be(&alice);
		show_names("d");
		TRY(stat("d/f", &st));
		TRY(eaccess("d", X_OK));
	}
	TRY_PTR(readdir(dir));
}
