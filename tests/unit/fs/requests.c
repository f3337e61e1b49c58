/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The operations of the mount without a kernel: requests are made here, and
 * libfuse reads them as if they came from /dev/fuse.  Each of them shows the
 * engine that somebody works in the mount.
 */

#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "fs/inode/cred.h"
#include "fs/ops/notify.h"
#include "fs/loop/loop.h"
#include "fs/ops/ops.h"
#include "fs/inode/descriptor.h"
#include "fs/similar/similar.h"
#include "tests/unit/fs/session.h"

#define ROOT FUSE_ROOT_ID

enum { MESSAGE_MAX = 1024 };

struct test_mount {
	char source[32];
	struct fs fs;
	struct engine_host host;
	int kernel; /* where replies arrive */
	uint64_t unique;
	size_t len; /* of the request, which begins with a header */
	uint8_t request[MESSAGE_MAX];
	uint8_t reply[MESSAGE_MAX];
};

/* ---- requests ---- */

static void put_bytes(struct test_mount *m, const void *bytes, size_t len)
{
	assert_in_range(len, 0, sizeof(m->request) - m->len);
	memcpy(m->request + m->len, bytes, len);
	m->len += len;
}

#define PUT(m, ...) put_bytes(m, &(__VA_ARGS__), sizeof(__VA_ARGS__))

static void put_text(struct test_mount *m, const char *text)
{
	put_bytes(m, text, strlen(text) + 1);
}

/* Lets the request be served, whatever has been put into it. */
static void serve_request(struct test_mount *m, uint32_t opcode, uint64_t node)
{
	struct fuse_in_header header = {
		.len = (uint32_t)m->len,
		.opcode = opcode,
		.unique = ++m->unique,
		.nodeid = node,
		.uid = getuid(),
		.gid = getgid(),
		.pid = (uint32_t)getpid(),
	};
	struct fuse_buf buf = { .size = m->len, .mem = m->request };

	memcpy(m->request, &header, sizeof(header));
	loop_answer(&m->fs, &buf);
	m->len = sizeof(header);
}

/* 0 or the errno of the reply, which is left in m->reply. */
static int take_reply(struct test_mount *m)
{
	struct fuse_out_header header;
	ssize_t len = recv(m->kernel, m->reply, sizeof(m->reply), MSG_DONTWAIT);

	assert_true(len >= (ssize_t)sizeof(header));
	memcpy(&header, m->reply, sizeof(header));
	assert_int_equal(header.unique, m->unique);
	return -header.error;
}

static void assert_asked(struct test_mount *m, uint32_t opcode)
{
	if (!m->host.had_requests(m->host.ctx))
		fail_msg("the engine does not hear of request %u", opcode);
	assert_false(m->host.had_requests(m->host.ctx));
}

/* The request is answered with that, and the engine hears of it. */
static void assert_answer(struct test_mount *m, uint32_t opcode, uint64_t node,
			  int want)
{
	serve_request(m, opcode, node);
	assert_int_equal(take_reply(m), want);
	assert_asked(m, opcode);
}

static struct fuse_entry_out entry_of(const struct test_mount *m)
{
	struct fuse_entry_out out;

	memcpy(&out, m->reply + sizeof(struct fuse_out_header), sizeof(out));
	return out;
}

/* offset: what the reply has before it. */
static uint64_t handle_behind(const struct test_mount *m, size_t offset)
{
	struct fuse_open_out out;

	memcpy(&out, m->reply + sizeof(struct fuse_out_header) + offset,
	       sizeof(out));
	return out.fh;
}

/* ---- a mount ---- */

static void open_session(struct test_mount *m)
{
	m->kernel = session_on_socket(&ops_table, &m->fs, &m->fs.session);
	m->len = sizeof(struct fuse_in_header);
	PUT(m, (struct fuse_init_in){ .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION });
	serve_request(m, FUSE_INIT, 0);
	assert_int_equal(take_reply(m), 0);
}

static int make_mount(void **state)
{
	struct test_mount *m = calloc(1, sizeof(*m));
	struct engine_options options = { 0 };
	int fd;

	assert_non_null(m);
	m->fs.options.similar_name = ".similar";
	(void)snprintf(m->source, sizeof(m->source), "/tmp/kinfs-fs-XXXXXX");
	assert_non_null(mkdtemp(m->source));
	fd = open(m->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_paths_enable(), 0);
	assert_int_equal(cred_init(&m->fs), 0);
	assert_int_equal(inodes_open(&m->fs, fd, ops_release_inode), 0);
	assert_int_equal(similar_open(&m->fs), 0);
	notify_host(&m->fs, &options);
	m->host = options.host;
	open_session(m);
	(void)m->host.had_requests(m->host.ctx); /* INIT */
	*state = m;
	return 0;
}

static int remove_mount(void **state)
{
	struct test_mount *m = *state;

	fuse_session_destroy(m->fs.session);
	similar_free(&m->fs);
	inodes_free(&m->fs);
	credentials_release(&m->fs.own);
	close(m->kernel);
	assert_int_equal(rmdir(m->source), 0);
	free(m);
	return 0;
}

static uint64_t create(struct test_mount *m, const char *name, uint64_t *fh_out)
{
	PUT(m, (struct fuse_create_in){ .flags = O_RDWR | O_CREAT,
					.mode = S_IFREG | 0600 });
	put_text(m, name);
	assert_answer(m, FUSE_CREATE, ROOT, 0);
	*fh_out = handle_behind(m, sizeof(struct fuse_entry_out));
	return entry_of(m).nodeid;
}

static uint64_t look_up(struct test_mount *m, uint64_t parent, const char *name)
{
	put_text(m, name);
	assert_answer(m, FUSE_LOOKUP, parent, 0);
	return entry_of(m).nodeid;
}

static void release(struct test_mount *m, uint32_t opcode, uint64_t node,
		    uint64_t fh)
{
	PUT(m, (struct fuse_release_in){ .fh = fh });
	assert_answer(m, opcode, node, 0);
}

static void unlink_name(struct test_mount *m, const char *name)
{
	put_text(m, name);
	assert_answer(m, FUSE_UNLINK, ROOT, 0);
}

/* ---- tests ---- */

#define WITH_FIXTURE(name) TEST_WITH(name, make_mount, remove_mount)

/* The kernel's table of them does not have to grow later. */
WITH_FIXTURE(room_for_descriptors)
{
	struct rlimit limit;
	char line[128];
	rlim_t size = 0;
	FILE *f = fopen("/proc/self/status", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "FDSize:", 7) == 0)
			size = strtoul(line + 7, NULL, 10);
	(void)fclose(f);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(size >= 65536 || size >= limit.rlim_cur);
}

WITH_FIXTURE(a_look_clears_what_it_sees)
{
	struct test_mount *m = *state;

	assert_false(m->host.had_requests(m->host.ctx));
	put_text(m, "nothing");
	assert_answer(m, FUSE_LOOKUP, ROOT, ENOENT);
	assert_false(m->host.had_requests(m->host.ctx));
}

static uint64_t opendir_root(struct test_mount *m)
{
	PUT(m, (struct fuse_open_in){ .flags = O_RDONLY | O_DIRECTORY });
	assert_answer(m, FUSE_OPENDIR, ROOT, 0);
	return handle_behind(m, 0);
}

/* Whether the listing with attributes comes with those of that name. */
static bool lists_attributes(struct test_mount *m, uint64_t fh,
			     const char *name)
{
	size_t at = sizeof(struct fuse_out_header);
	struct fuse_out_header header;
	struct fuse_direntplus entry;

	PUT(m, (struct fuse_read_in){ .fh = fh, .size = 1000 });
	assert_answer(m, FUSE_READDIRPLUS, ROOT, 0);
	memcpy(&header, m->reply, sizeof(header));
	for (; at < header.len; at += FUSE_DIRENTPLUS_SIZE(&entry)) {
		memcpy(&entry, m->reply + at, sizeof(entry));
		if (entry.dirent.namelen == strlen(name) &&
		    !memcmp(m->reply + at + FUSE_NAME_OFFSET_DIRENTPLUS, name,
			    strlen(name)))
			return entry.entry_out.nodeid != 0;
	}
	fail_msg("%s is not listed", name);
	return false;
}

WITH_FIXTURE(attributes_are_told_once)
{
	struct test_mount *m = *state;
	uint64_t fh, node = create(m, "file", &fh);

	m->fs.options.timeout_s = 3600;
	release(m, FUSE_RELEASE, node, fh);
	fh = opendir_root(m);
	assert_true(lists_attributes(m, fh, "file"));
	assert_false(lists_attributes(m, fh, "file"));
	assert_int_equal(look_up(m, ROOT, "file"), node);
	assert_false(lists_attributes(m, fh, "file"));
	/* The kernel forgets some of them when it is opened. */
	PUT(m, (struct fuse_open_in){ .flags = O_RDONLY });
	assert_answer(m, FUSE_OPEN, node, 0);
	release(m, FUSE_RELEASE, node, handle_behind(m, 0));
	assert_true(lists_attributes(m, fh, "file"));
	m->fs.options.timeout_s = 0;
	assert_true(lists_attributes(m, fh, "file"));
	assert_true(lists_attributes(m, fh, "file"));
	release(m, FUSE_RELEASEDIR, ROOT, fh);
	unlink_name(m, "file");
}

static void make_file(struct test_mount *m, const char *name)
{
	uint64_t fh, node = create(m, name, &fh);

	release(m, FUSE_RELEASE, node, fh);
}

/* Whether the kernel may list from its memory, when it was told the names and
 * what they lead to longer than a timeout ago. */
static bool keeps_listing(struct test_mount *m)
{
	struct open_seen *seen = &m->fs.root->seen;
	struct fuse_open_out out;
	struct stat st;

	assert_int_equal(stat(m->source, &st), 0);
	seen->ctime_ns = timespec_to_ns(&st.st_ctim);
	seen->mtime_ns = timespec_to_ns(&st.st_mtim);
	seen->filled_ns = clock_ns(CLOCK_REALTIME) -
			  (int64_t)(m->fs.options.timeout_s * 2e9);
	PUT(m, (struct fuse_open_in){ .flags = O_RDONLY | O_DIRECTORY });
	assert_answer(m, FUSE_OPENDIR, ROOT, 0);
	memcpy(&out, m->reply + sizeof(struct fuse_out_header), sizeof(out));
	release(m, FUSE_RELEASEDIR, ROOT, out.fh);
	return out.open_flags & FOPEN_KEEP_CACHE;
}

static void list_root(struct test_mount *m)
{
	uint64_t fh = opendir_root(m);

	(void)lists_attributes(m, fh, "one");
	release(m, FUSE_RELEASEDIR, ROOT, fh);
}

WITH_FIXTURE(who_knows_the_names_lists_from_memory)
{
	struct test_mount *m = *state;

	m->fs.options.timeout_s = 3600;
	make_file(m, "one");
	make_file(m, "two");
	make_file(m, "three");
	list_root(m);
	assert_false(keeps_listing(m));
	list_root(m);
	look_up(m, ROOT, "one");
	assert_false(keeps_listing(m));
	list_root(m);
	look_up(m, ROOT, "two");
	assert_true(keeps_listing(m));
	m->fs.options.timeout_s = 0;
	unlink_name(m, "one");
	unlink_name(m, "two");
	unlink_name(m, "three");
}

/* Where the kernel has checked all that the daemon's open() would. */
WITH_FIXTURE(directories_are_opened_when_they_are_read)
{
	struct test_mount *m = *state;
	uint64_t fh = opendir_root(m);
	const struct handle *h = (const struct handle *)(uintptr_t)fh;

	assert_int_equal(m->fs.root_user, h->fd < 0);
	PUT(m, (struct fuse_read_in){ .fh = fh, .size = 512 });
	assert_answer(m, FUSE_READDIR, ROOT, 0);
	assert_true(h->fd >= 0);
	release(m, FUSE_RELEASEDIR, ROOT, fh);
}
