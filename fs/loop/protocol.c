/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/loop/loop.h"

#include <linux/fuse.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* A libfuse that knows of backing files and of writers without CAP_FSETID. */
#if FUSE_VERSION > 318 || (FUSE_VERSION == 318 && FUSE_HOTFIX_VERSION >= 3)

int protocol_open(struct fuse_session *session)
{
	(void)session;
	return 0;
}

bool protocol_want_passthrough(struct fuse_conn_info *conn)
{
	conn->want |= FUSE_CAP_PASSTHROUGH & conn->capable;
	return conn->want & FUSE_CAP_PASSTHROUGH;
}

void protocol_want_parallel(struct fuse_conn_info *conn)
{
	conn->want |= FUSE_CAP_PARALLEL_DIROPS & conn->capable;
}

bool protocol_want_killpriv(struct fuse_conn_info *conn)
{
	conn->want |= FUSE_CAP_HANDLE_KILLPRIV_V2 & conn->capable;
	return conn->want & FUSE_CAP_HANDLE_KILLPRIV_V2;
}

void protocol_show_backing(struct fuse_file_info *fi, int id)
{
	fi->backing_id = id;
}

bool protocol_kills_setid(const struct fuse_file_info *fi)
{
	return fi->kill_suidgid;
}

#else

#include <fcntl.h>
#include <stddef.h>

/* From <linux/fuse.h>, which is as old as libfuse on some systems. */
#define INIT_PASSTHROUGH (1ULL << 37)
#define OPEN_PASSTHROUGH (1u << 7)
#define MAX_STACK_DEPTH_AT 36 /* in struct fuse_init_out, 32 bits */
#define BACKING_ID_AT 12      /* in struct fuse_open_out, 32 bits */
/* Backing files are on a filesystem that is not stacked. */
#define STACK_DEPTH 1u

/* The request that this thread has read, and its next reply. */
static _Thread_local struct {
	uint64_t offered;  /* INIT: the kernel's flags */
	uint64_t accepted; /* INIT: flags to add to the reply */
	int backing_id;
	bool kills_setid;
} exchange;

/* ---- requests ---- */

static void note_request(const void *request, size_t size)
{
	const struct fuse_in_header *header = request;
	const struct fuse_write_in *write = (const void *)(header + 1);
	const struct fuse_init_in *init = (const void *)(header + 1);

	exchange.kills_setid = header->opcode == FUSE_WRITE &&
			       size >= sizeof(*header) + sizeof(*write) &&
			       write->write_flags & FUSE_WRITE_KILL_SUIDGID;
	if (header->opcode == FUSE_INIT &&
	    size >= sizeof(*header) + offsetof(struct fuse_init_in, flags2)) {
		exchange.offered = init->flags;
		if (init->flags & FUSE_INIT_EXT)
			exchange.offered |= (uint64_t)init->flags2 << 32;
	}
}

static ssize_t read_request(int fd, void *buf, size_t size, void *userdata)
{
	ssize_t len = read(fd, buf, size);

	(void)userdata;
	if (len >= (ssize_t)sizeof(struct fuse_in_header))
		note_request(buf, (size_t)len);
	return len;
}

/* ---- replies ---- */

static void accept_features(struct fuse_init_out *out)
{
	const uint32_t depth = STACK_DEPTH;
	uint64_t flags =
		out->flags | (uint64_t)out->flags2 << 32 | exchange.accepted;

	out->flags = (uint32_t)flags;
	out->flags2 = (uint32_t)(flags >> 32);
	if (exchange.accepted & INIT_PASSTHROUGH)
		memcpy((char *)out + MAX_STACK_DEPTH_AT, &depth, sizeof(depth));
	exchange.accepted = 0;
}

/* Leaves out notifications, which have no unique number, and errors, which are
 * a header only. */
static void add_to_reply(const struct iovec *iov, int count)
{
	const struct fuse_out_header *header = iov[0].iov_base;
	struct fuse_open_out *open;

	if (count != 2 || !header->unique)
		return;
	if (exchange.accepted &&
	    iov[1].iov_len >= sizeof(struct fuse_init_out)) {
		accept_features(iov[1].iov_base);
	} else if (exchange.backing_id && iov[1].iov_len >= sizeof(*open)) {
		/* At the end of the reply, in a create after the entry. */
		open = (void *)((char *)iov[1].iov_base + iov[1].iov_len -
				sizeof(*open));
		open->open_flags |= OPEN_PASSTHROUGH;
		memcpy((char *)open + BACKING_ID_AT, &exchange.backing_id,
		       sizeof(exchange.backing_id));
		exchange.backing_id = 0;
	}
}

static ssize_t write_reply(int fd, struct iovec *iov, int count, void *userdata)
{
	(void)userdata;
	if (exchange.accepted || exchange.backing_id)
		add_to_reply(iov, count);
	return writev(fd, iov, count);
}

static ssize_t splice_reply(int in, off_t *off_in, int out, off_t *off_out,
			    size_t len, unsigned flags, void *userdata)
{
	(void)userdata;
	return splice(in, off_in, out, off_out, len, flags);
}

/* ---- the session ---- */

int protocol_open(struct fuse_session *session)
{
	const struct fuse_custom_io io = {
		.read = read_request,
		.writev = write_reply,
		.splice_send = splice_reply,
	};

	return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

static bool want_flag(uint64_t flag)
{
	exchange.accepted |= exchange.offered & flag;
	return exchange.accepted & flag;
}

bool protocol_want_passthrough(struct fuse_conn_info *conn)
{
	(void)conn;
	return want_flag(INIT_PASSTHROUGH);
}

void protocol_want_parallel(struct fuse_conn_info *conn)
{
	(void)conn;
	(void)want_flag(FUSE_PARALLEL_DIROPS);
}

bool protocol_want_killpriv(struct fuse_conn_info *conn)
{
	(void)conn;
	return want_flag(FUSE_HANDLE_KILLPRIV_V2);
}

void protocol_show_backing(struct fuse_file_info *fi, int id)
{
	(void)fi;
	exchange.backing_id = id;
}

bool protocol_kills_setid(const struct fuse_file_info *fi)
{
	(void)fi;
	return exchange.kills_setid;
}

#endif

/* ---- names ---- */

/* Of protocol 7.38, in struct fuse_notify_inval_entry_out. */
#define EXPIRE_ONLY 1u
enum { EXPIRE_MINOR = 38 };

bool protocol_can_expire_names(const struct fuse_conn_info *conn)
{
	return conn->proto_major > 7 || conn->proto_minor >= EXPIRE_MINOR;
}

void protocol_expire_name(struct fuse_session *session, fuse_ino_t parent,
			  const char *name)
{
	struct {
		struct fuse_out_header header;
		uint64_t parent;
		uint32_t name_len;
		uint32_t flags;
	} message = {
		.header.error = FUSE_NOTIFY_INVAL_ENTRY,
		.parent = parent,
		.name_len = (uint32_t)strlen(name),
		.flags = EXPIRE_ONLY,
	};
	const struct iovec iov[] = {
		{ &message, sizeof(message) },
		{ (void *)(uintptr_t)name, message.name_len + 1u },
	};

	message.header.len = (uint32_t)(iov[0].iov_len + iov[1].iov_len);
	(void)!writev(fuse_session_fd(session), iov, 2);
}
