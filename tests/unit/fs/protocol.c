/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What is said to the kernel beyond libfuse, or by it: messages of Linux 6.9
 * to a session that reads and writes a socket, and what it replies.  The
 * numbers are those of include/uapi/linux/fuse.h there; the headers of the
 * system may be older.
 */

#include "tests/support/test.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fs/loop/loop.h"
#include "tests/unit/fs/session.h"

#define KILLPRIV_V2 (1u << 28) /* flags */
#define EXTENDED (1u << 30)    /* flags */
#define PASSTHROUGH (1u << 5)  /* flags2 */
#define OPEN_PASSTHROUGH (1u << 7)

enum { ID = 0x1234567, MESSAGE_MAX = 256, SHORT_INIT = 16 };

struct exchange {
	struct fuse_session *session;
	struct fuse_buf buf;
	int kernel; /* the other end */
	uint64_t unique;
	size_t len; /* of the reply */
	uint8_t reply[MESSAGE_MAX];

	/* What the functions said and are to say. */
	bool passthrough, killpriv, kills;
	int id;
};

/* ---- the operations ---- */

static void init(void *userdata, struct fuse_conn_info *conn)
{
	struct exchange *x = userdata;

	x->passthrough = protocol_want_passthrough(conn);
	x->killpriv = protocol_want_killpriv(conn);
}

static void open_file(fuse_req_t req, fuse_ino_t node,
		      struct fuse_file_info *fi)
{
	struct exchange *x = fuse_req_userdata(req);

	(void)node;
	fi->fh = 99;
	protocol_show_backing(fi, x->id);
	fuse_reply_open(req, fi);
}

static void create(fuse_req_t req, fuse_ino_t parent, const char *name,
		   mode_t mode, struct fuse_file_info *fi)
{
	struct exchange *x = fuse_req_userdata(req);
	struct fuse_entry_param e = { .ino = 7 };

	(void)parent;
	(void)name;
	(void)mode;
	fi->fh = 98;
	protocol_show_backing(fi, x->id);
	fuse_reply_create(req, &e, fi);
}

static void write_file(fuse_req_t req, fuse_ino_t node, const char *data,
		       size_t size, off_t off, struct fuse_file_info *fi)
{
	struct exchange *x = fuse_req_userdata(req);

	(void)node;
	(void)data;
	(void)off;
	x->kills = protocol_kills_setid(fi);
	fuse_reply_write(req, size);
}

static void get_attributes(fuse_req_t req, fuse_ino_t node,
			   struct fuse_file_info *fi)
{
	struct exchange *x = fuse_req_userdata(req);
	struct fuse_file_info none = { .fh = 0 };
	struct stat st = { .st_ino = 1 };

	(void)node;
	x->kills = protocol_kills_setid(fi ? fi : &none);
	fuse_reply_attr(req, &st, 1);
}

static const struct fuse_lowlevel_ops ops = {
	.init = init,
	.open = open_file,
	.create = create,
	.write = write_file,
	.getattr = get_attributes,
};

/* ---- messages ---- */

static void ask(struct exchange *x, uint32_t opcode, const void *in, size_t len)
{
	struct fuse_in_header header = {
		.len = (uint32_t)(sizeof(header) + len),
		.opcode = opcode,
		.unique = ++x->unique,
		.nodeid = FUSE_ROOT_ID,
	};
	struct fuse_out_header out;
	uint8_t message[MESSAGE_MAX];
	ssize_t got;

	assert_true(header.len <= sizeof(message));
	memcpy(message, &header, sizeof(header));
	memcpy(message + sizeof(header), in, len);
	assert_int_equal(send(x->kernel, message, header.len, 0), header.len);
	assert_int_equal(fuse_session_receive_buf(x->session, &x->buf),
			 header.len);
	fuse_session_process_buf(x->session, &x->buf);
	got = recv(x->kernel, x->reply, sizeof(x->reply), MSG_DONTWAIT);
	assert_true(got >= (ssize_t)sizeof(out));
	memcpy(&out, x->reply, sizeof(out));
	assert_int_equal(out.unique, x->unique);
	assert_int_equal(out.error, 0);
	x->len = (size_t)got - sizeof(out);
}

/* 32 bits of the reply's body. */
static uint32_t word(const struct exchange *x, size_t at)
{
	uint32_t w;

	assert_true(at + sizeof(w) <= x->len);
	memcpy(&w, x->reply + sizeof(struct fuse_out_header) + at, sizeof(w));
	return w;
}

static void ask_init(struct exchange *x, uint32_t flags, uint32_t flags2,
		     size_t size)
{
	struct fuse_init_in in = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.flags = flags,
		.flags2 = flags2,
	};

	ask(x, FUSE_INIT, &in, size);
}

static void ask_init_all(struct exchange *x)
{
	ask_init(x, KILLPRIV_V2 | EXTENDED, PASSTHROUGH,
		 sizeof(struct fuse_init_in));
}

static int open_exchange(void **state)
{
	struct exchange *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->kernel = session_on_socket(&ops, x, &x->session);
	assert_int_equal(protocol_open(x->session), 0);
	*state = x;
	return 0;
}

static int close_exchange(void **state)
{
	struct exchange *x = *state;

	fuse_session_destroy(x->session);
	free(x->buf.mem);
	close(x->kernel);
	free(x);
	return 0;
}

/* ---- features ---- */

/* struct fuse_init_out: flags at 12, flags2 at 32, max_stack_depth at 36. */

#define WITH_FIXTURE(name) TEST_WITH(name, open_exchange, close_exchange)

WITH_FIXTURE(test_features_that_are_there)
{
	struct exchange *x = *state;

	ask_init_all(x);
	assert_true(x->passthrough);
	assert_true(x->killpriv);
	assert_int_equal(word(x, 12) & KILLPRIV_V2, KILLPRIV_V2);
	assert_int_equal(word(x, 12) & EXTENDED, EXTENDED);
	assert_int_equal(word(x, 32) & PASSTHROUGH, PASSTHROUGH);
	assert_int_equal(word(x, 36), 1);
}

WITH_FIXTURE(test_features_that_are_not)
{
	struct exchange *x = *state;

	ask_init(x, EXTENDED, 0, sizeof(struct fuse_init_in));
	assert_false(x->passthrough);
	assert_false(x->killpriv);
	assert_int_equal(word(x, 12) & KILLPRIV_V2, 0);
	assert_int_equal(word(x, 32) & PASSTHROUGH, 0);
	assert_int_equal(word(x, 36), 0);
}

/* Before Linux 5.17 the message ends after the flags. */
WITH_FIXTURE(test_features_of_old_kernels)
{
	struct exchange *x = *state;

	ask_init(x, KILLPRIV_V2, 0, SHORT_INIT);
	assert_false(x->passthrough);
	assert_true(x->killpriv);
	assert_int_equal(word(x, 12) & KILLPRIV_V2, KILLPRIV_V2);
}

/* ---- replies ---- */

/* struct fuse_open_out: fh at 0, open_flags at 8, backing_id at 12. */
static void assert_opened(const struct exchange *x, size_t at, uint32_t fh,
			  uint32_t id)
{
	assert_int_equal(word(x, at), fh);
	assert_int_equal(word(x, at + 8) & OPEN_PASSTHROUGH,
			 id ? OPEN_PASSTHROUGH : 0);
	assert_int_equal(word(x, at + 12), id);
	assert_int_equal(x->len, at + sizeof(struct fuse_open_out));
}

static void ask_open(struct exchange *x)
{
	struct fuse_open_in in = { .flags = 0 };

	ask(x, FUSE_OPEN, &in, sizeof(in));
}

WITH_FIXTURE(test_backing_of_an_open_file)
{
	struct exchange *x = *state;

	ask_init_all(x);
	x->id = ID;
	ask_open(x);
	assert_opened(x, 0, 99, ID);
	x->id = 0;
	ask_open(x);
	assert_opened(x, 0, 99, 0);
}

WITH_FIXTURE(test_backing_of_a_new_file)
{
	struct {
		struct fuse_create_in in;
		char name[8];
	} in = { .name = "f" };
	struct exchange *x = *state;

	ask_init_all(x);
	x->id = ID;
	ask(x, FUSE_CREATE, &in, sizeof(in));
	assert_int_equal(word(x, 0), 7);
	assert_opened(x, sizeof(struct fuse_entry_out), 98, ID);
}

/* ---- writes ---- */

static void ask_write(struct exchange *x, uint32_t write_flags)
{
	struct {
		struct fuse_write_in in;
		char data[4];
	} in = { { .size = 4, .write_flags = write_flags }, "abc" };

	ask(x, FUSE_WRITE, &in, sizeof(in));
}

WITH_FIXTURE(test_writers_without_fsetid)
{
	struct exchange *x = *state;
	struct fuse_getattr_in in = { .dummy = 0 };

	ask_init_all(x);
	ask_write(x, FUSE_WRITE_KILL_SUIDGID);
	assert_true(x->kills);
	ask(x, FUSE_GETATTR, &in, sizeof(in));
	assert_false(x->kills);
	ask_write(x, 0);
	assert_false(x->kills);
}

/* ---- names ---- */

/* struct fuse_out_header: len, error, unique; then the nodeid of the directory,
 * the length of the name, flags (1: expire only), the name and its NUL. */
WITH_FIXTURE(test_expired_name)
{
	const uint32_t want[] = { 16 + 16 + 5, 3, 0, 0, 42, 0, 4, 1 };
	struct exchange *x = *state;

	ask_init_all(x);
	protocol_expire_name(x->session, 42, "name");
	assert_int_equal(
		recv(x->kernel, x->reply, sizeof(x->reply), MSG_DONTWAIT),
		sizeof(want) + 5);
	assert_memory_equal(x->reply, want, sizeof(want));
	assert_string_equal((char *)x->reply + sizeof(want), "name");
}
