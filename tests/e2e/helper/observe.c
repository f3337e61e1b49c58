/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a user can see of a mount: observe SEED COUNT HEAD <PATHS, in the mount,
 * makes COUNT random observations of the paths (relative, a line each), then
 * reads all their attributes and listings, and prints a line for each.  HEAD is
 * a set-user-ID copy of head(1).  The same arguments make the same
 * observations, so that two mounts can be compared.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { PATHS_MAX = 4096, VALUE_MAX = 1 << 22 };

static char *paths[PATHS_MAX];
static size_t path_count;
static const char *head;
static uint64_t seed;
static char value[VALUE_MAX + 1];

static const char *const attributes[] = {
	"user.sise",       "user.simhash",        "user.rdc.traits",
	"user.sif",        "user.sdhash",         "user.ssdeep",
	"user.xxh128",     "user.kinfs.state",    "user.kinfs.status",
	"user.kinfs.wait", "user.kinfs.control",  "user.kinfs.change",
	"user.other",      "security.capability",
};

static const char *const views[] = { "",       "/.within", "/.contains",
				     "/.dirs", "/.all",    "/.shares" };

/* In the words of a question. */
static const char *const relations[] = { "alike", "within", "contains",
					 "all",   "shares", "groups" };

/* Fields of a question for groups, one of each. */
static const char *const group_kinds[] = { "", ",\"exact\":true",
					   ",\"every\":true" };
static const char *const group_limits[] = { "", ",\"threshold\":30",
					    ",\"min_size\":1000" };

enum {
	ATTRIBUTE_COUNT = sizeof(attributes) / sizeof(attributes[0]),
	VIEW_COUNT = sizeof(views) / sizeof(views[0]),
	RELATION_COUNT = sizeof(relations) / sizeof(relations[0]),
	GROUP_KIND_COUNT = sizeof(group_kinds) / sizeof(group_kinds[0]),
	GROUP_LIMIT_COUNT = sizeof(group_limits) / sizeof(group_limits[0]),
};

static uint64_t draw(uint64_t most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % most;
}

static const char *any_path(void)
{
	return paths[draw(path_count)];
}

static void print_error(void)
{
	printf(" %s", strerrorname_np(errno));
}

/* All of a short one, a checksum of a long one. */
static void print_value(const char *text, size_t len)
{
	uint64_t sum = 14695981039346656037u;
	size_t i;

	printf(" %zu:", len);
	for (i = 0; i < len; i++) {
		sum = (sum ^ (unsigned char)text[i]) * 1099511628211u;
		if (len <= 4096)
			putchar(text[i] >= 32 && text[i] < 127 ? text[i] : '/');
	}
	printf(":%llx", len > 4096 ? (unsigned long long)sum : 0);
}

static void print_stat(const char *path)
{
	struct stat st;

	if (lstat(path, &st)) {
		print_error();
		return;
	}
	printf(" %o %lu %u %u %lld %lld.%09ld", st.st_mode,
	       (unsigned long)st.st_nlink, st.st_uid, st.st_gid,
	       (long long)st.st_size, (long long)st.st_mtim.tv_sec,
	       st.st_mtim.tv_nsec);
	if (strncmp(path, ".similar", 8) == 0)
		printf(" %llu", (unsigned long long)st.st_ino);
}

/* What goes on at this moment is no secret, and not equal in two mounts: the
 * status is that of a daemon that has nothing to do. */
static void print_status(void)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	ssize_t len;

	while ((len = getxattr(".", "user.kinfs.status", value,
			       sizeof(value) - 1)) > 0) {
		value[len] = '\0';
		if (strstr(value, "\"idle\": true"))
			break;
		nanosleep(&pause, NULL);
	}
	if (len < 0)
		print_error();
	else
		print_value(value, (size_t)len);
}

static void print_attribute(const char *path, const char *name)
{
	ssize_t probe = getxattr(path, name, NULL, 0);
	ssize_t len;

	printf(" %s", name);
	if (probe < 0) {
		print_error();
		return;
	}
	len = getxattr(path, name, value, sizeof(value));
	if (len < 0)
		print_error();
	else
		print_value(value, (size_t)len);
}

static void print_list(const char *path)
{
	ssize_t probe = listxattr(path, NULL, 0);
	ssize_t len = listxattr(path, value, sizeof(value));

	if (probe < 0 || len < 0) {
		print_error();
		return;
	}
	printf(" %zd", probe);
	print_value(value, (size_t)len);
}

static void print_link(const char *directory, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	len = readlink(path, target, sizeof(target));
	if (len >= 0)
		printf(" -> %.*s", (int)len, target);
	print_stat(path);
}

static void print_directory(const char *path)
{
	DIR *d = opendir(path);
	const struct dirent *e;
	int looks = 3;

	if (!d) {
		print_error();
		return;
	}
	while ((errno = 0, e = readdir(d))) {
		printf(" %s %d", e->d_name, e->d_type);
		if (e->d_type == DT_LNK && looks-- > 0)
			print_link(path, e->d_name);
	}
	if (errno)
		print_error();
	closedir(d);
}

static void print_content(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, value, sizeof(value));

	if (len < 0)
		print_error();
	else
		print_value(value, (size_t)len);
	if (fd >= 0)
		close(fd);
}

static void in_view(char *out, size_t size)
{
	const char *path = any_path();

	snprintf(out, size, ".similar/%s%s", path, views[draw(VIEW_COUNT)]);
}

/* A link that may be there, by its name. */
static void print_guess(void)
{
	const char *of = any_path(), *to = any_path();
	const char *slash = strrchr(to, '/');
	char path[PATH_MAX];

	snprintf(path, sizeof(path), ".similar/%s/100_%s", of,
		 slash ? slash + 1 : to);
	printf(" %s", path);
	print_stat(path);
}

/* A privileged process takes the first byte. */
static void read_first(int fd)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(fd, 0);
		dup2(null, 1);
		dup2(null, 2);
		execl(head, head, "-c", "1", (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	printf(" (%d)", status);
}

static int by_text(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Sorts the fields of the lines of JSON: files of one content come in the order
 * of their inode numbers, names of one file in that of their directories', which
 * SOURCE makes, and the first one has what is told of the content.  The bytes
 * that are left. */
static size_t sort_fields(size_t len)
{
	static const char *fields[VALUE_MAX / 2 + 1];
	static char sorted[VALUE_MAX + 1];
	char *field, *to = sorted, *save = NULL;
	size_t count = 0, i, end;

	value[len < VALUE_MAX ? len : VALUE_MAX - 1] = '\0';
	for (field = strtok_r(value, "{},\n", &save); field;
	     field = strtok_r(NULL, "{},\n", &save)) {
		field += strspn(field, "[]");
		end = strlen(field);
		while (end && strchr("[]", field[end - 1]))
			field[--end] = '\0';
		fields[count++] = field;
	}
	qsort(fields, count, sizeof(*fields), by_text);
	*to = '\0';
	for (i = 0; i < count; i++)
		to += sprintf(to, "%s%s", i ? "\n" : "", fields[i]);
	strcpy(value, sorted);
	return strlen(value);
}

/* All that is said until the end, also of how far the search is. */
static void print_answer(const char *question, size_t len, int privileged,
			 int sorts)
{
	int fd = open(".similar/.query", O_RDWR);
	size_t total = 0;
	ssize_t n;

	if (fd < 0 || write(fd, question, len) != (ssize_t)len) {
		print_error();
	} else {
		if (privileged)
			read_first(fd);
		while ((n = read(fd, value + total, VALUE_MAX - total)) > 0)
			total += (size_t)n;
		if (n < 0)
			print_error();
		if (sorts)
			total = sort_fields(total);
		print_value(value, total);
	}
	if (fd >= 0)
		close(fd);
}

/* The digests of the question: that one, if the path has it. */
static size_t put_digest(const char *path, const char *attribute,
			 const char *name, char *out, size_t size)
{
	char text[8192];
	ssize_t len = getxattr(path, attribute, text, sizeof(text));

	if (len < 0)
		return 0;
	return (size_t)snprintf(out, size, "\"%s\":\"%.*s\"", name, (int)len,
				text);
}

/* Of the whole tree, or of the path and below. */
static void print_groups_question(const char *path, int privileged)
{
	char question[2 * PATH_MAX + 200];
	size_t len = (size_t)snprintf(question, sizeof(question),
				      "{\"relation\":\"groups\"%s%s",
				      group_kinds[draw(GROUP_KIND_COUNT)],
				      group_limits[draw(GROUP_LIMIT_COUNT)]);

	if (draw(2)) {
		len += (size_t)sprintf(question + len,
				       ",\"within\":[{\"path_hex\":\"");
		for (; *path; path++)
			len += (size_t)sprintf(question + len, "%02x",
					       (unsigned char)*path);
		len += (size_t)sprintf(question + len, "\"}]");
	}
	len += (size_t)sprintf(question + len, "}");
	print_answer(question, len, privileged, 1);
}

/* Those who may read a path know its digests.  Others ask with none. */
static void print_question(void)
{
	const char *relation = relations[draw(RELATION_COUNT)];
	const char *path = any_path();
	int privileged = draw(2) == 0;
	char question[20000];
	struct stat st;
	size_t len;

	printf(" %s of %s", relation, path);
	if (strcmp(relation, "groups") == 0) {
		print_groups_question(path, privileged);
		return;
	}
	if (lstat(path, &st)) {
		print_error();
		return;
	}
	len = (size_t)snprintf(
		question, sizeof(question),
		"{\"size\":%lld,\"relation\":\"%s\",\"digests\":{",
		(long long)st.st_size, relation);
	len += put_digest(path, "user.sif", "sif", question + len,
			  sizeof(question) - len);
	len += (size_t)snprintf(question + len, sizeof(question) - len, "}}");
	print_answer(question, len, privileged, 0);
}

static void print_control(void)
{
	static const char *const words[] = { "rescan", "pause" };
	const char *word = words[draw(2)];

	if (setxattr(".", "user.kinfs.control", word, strlen(word), 0))
		print_error();
}

static void observe(void)
{
	char path[PATH_MAX];
	uint64_t kind = draw(16);

	snprintf(path, sizeof(path), "%s", any_path());
	if (kind >= 4 && kind <= 9)
		in_view(path, sizeof(path));
	printf(" %s", path);
	switch (kind) {
	case 0:
	case 4:
		print_stat(path);
		break;
	case 1:
	case 5:
		print_list(path);
		break;
	case 2:
	case 3:
		print_attribute(path, attributes[draw(ATTRIBUTE_COUNT)]);
		break;
	case 6:
	case 7:
		print_attribute(path, "user.kinfs.state");
		break;
	case 8:
	case 9:
		print_directory(path);
		break;
	case 10:
		print_status();
		break;
	case 11:
		print_content(path);
		break;
	case 12:
		print_guess();
		break;
	case 13:
		print_control();
		break;
	default:
		print_question();
	}
}

/* Every attribute, every listing, and whether it is complete. */
static void sweep(void)
{
	char path[PATH_MAX];
	size_t i, v;

	for (i = 0; i < path_count; i++) {
		printf("%s", paths[i]);
		for (v = 0; v < ATTRIBUTE_COUNT; v++)
			print_attribute(paths[i], attributes[v]);
		putchar('\n');
		for (v = 0; v < VIEW_COUNT; v++) {
			snprintf(path, sizeof(path), ".similar/%s%s", paths[i],
				 views[v]);
			printf("%s", path);
			print_attribute(path, "user.kinfs.state");
			print_directory(path);
			putchar('\n');
		}
	}
}

int main(int argc, char **argv)
{
	char line[PATH_MAX];
	unsigned long i, count;

	if (argc != 4)
		return 2;
	seed = strtoull(argv[1], NULL, 10) | 1;
	count = strtoul(argv[2], NULL, 10);
	head = argv[3];
	while (path_count < PATHS_MAX && fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		paths[path_count++] = strdup(line);
	}
	if (!path_count)
		return 2;
	for (i = 0; i < count; i++) {
		printf("%lu", i);
		observe();
		putchar('\n');
	}
	sweep();
	return 0;
}
