/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/client.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/extract/protocol.h"
#include "core/extract/sniff.h"
#include "core/extract/starter.h"

/* A process that was taken over by a file sees those that come later: none is
 * used for more than these. */
enum { FILES_PER_PROCESS = 256 };

/*
 * A PDF among the members of a file gets at most this part of the file's time,
 * a quarter: 5 of 20 seconds are 600 pages and more.  So one that is drawn for
 * ever costs the file a member; four of them cost it all.
 */
enum { MEMBER_TIME = 4 };

/* A picture gets half of it. */
enum { PICTURE_TIME = 2 };

enum {
	LOOK_MS = 100,     /* how often processor time is looked at */
	STALL_MS = 600000, /* without a byte or processor time: it hangs */
};

/* One process, and how far its answer was read. */
struct extract_process {
	struct started started;
	uint32_t owner, files;
	int64_t cpu_begin, cpu_seen, looked, heard; /* ms */
	uint32_t depth; /* members that have not ended */
	bool is_busy;   /* a request has no end yet */
};

/* Shared by clients. */
struct extract_starter {
	atomic_uint clients;
	bool refuses_pictures;
	pthread_mutex_t lock; /* held for an order and its answer */
	int socket;
};

struct extract_client {
	struct extract_starter *starter;
	bool background;
	bool (*stop)(void *arg); /* or NULL */
	void *stop_arg;
	struct extract_process processes[STARTER_PROGRAMS];
	enum starter_program current;
	struct extract_limits limits;
	int64_t cpu_spent; /* ms for this file, without the current process */
	uint32_t owner;
	int file; /* the caller's */
	uint64_t size;
	uint64_t text;   /* bytes of text of the current document */
	uint64_t inside; /* bytes of members that are no text */
	uint32_t members;
	/* What is doubtful of the file and of each open member. */
	uint32_t doubts[EXTRACT_DEPTH_MAX + 1];
	int pdf; /* a member that is a PDF, in memory; -1: there is none */
	uint64_t pdf_size;
	enum extract_kind kind;      /* of a picture */
	struct extract_result early; /* when not OK: known without a process */
	uint8_t frame[EXTRACT_FRAME_MAX];
};

/* ---- processes ---- */

static void end_process(struct extract_client *c, enum starter_program which)
{
	starter_end(c->starter->socket, &c->processes[which].started);
	c->processes[which] = (struct extract_process){ 0 };
}

static int64_t cpu_ms(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : clock_ns(clock) / 1000000;
}

static void begin_time(struct extract_process *p)
{
	p->cpu_begin = p->cpu_seen = cpu_ms(p->started.pid);
	p->looked = p->heard = clock_now_ms();
}

/* Counts what a process took for the file. */
static void count_time(struct extract_client *c, struct extract_process *p)
{
	int64_t now = p->started.pid ? cpu_ms(p->started.pid) : 0;

	if (now > p->cpu_begin)
		c->cpu_spent += now - p->cpu_begin;
	p->cpu_begin = now;
}

/* Whether the process may go on. */
static bool is_within_time(struct extract_client *c, struct extract_process *p)
{
	const int64_t most =
		c->limits.cpu_ms /
		(c->current == STARTER_PICTURES           ? PICTURE_TIME :
		 c->current == STARTER_PDF && c->pdf >= 0 ? MEMBER_TIME :
							    1);
	int64_t now = clock_now_ms(), cpu, taken;

	if (now - p->looked < LOOK_MS)
		return true;
	p->looked = now;
	/* While a process starts, it may serve the next file. */
	if (p->is_busy && c->stop && c->stop(c->stop_arg))
		return false;
	cpu = cpu_ms(p->started.pid);
	if (cpu != p->cpu_seen)
		p->heard = now;
	p->cpu_seen = cpu;
	taken = cpu - p->cpu_begin;
	return c->cpu_spent + taken <= c->limits.cpu_ms && taken <= most &&
	       now - p->heard <= STALL_MS;
}

static enum extract_status read_all(struct extract_client *c,
				    struct extract_process *p, void *to,
				    size_t len)
{
	struct pollfd ready = { .fd = p->started.answers, .events = POLLIN };
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		if (!is_within_time(c, p))
			return EXTRACT_LIMIT;
		n = poll(&ready, 1, LOOK_MS);
		if (n == 0 || (n < 0 && errno == EINTR))
			continue;
		n = read(p->started.answers, (char *)to + done, len - done);
		if (n == 0 || (n < 0 && errno != EINTR))
			return EXTRACT_DAMAGED;
		p->heard = p->looked;
		done += n > 0 ? (size_t)n : 0;
	}
	return EXTRACT_OK;
}

/* A process says so when it is confined. */
static int start_process(struct extract_client *c, enum starter_program which)
{
	struct extract_process *p = &c->processes[which];
	struct extract_frame head;
	int err;

	pthread_mutex_lock(&c->starter->lock);
	err = starter_start(c->starter->socket, which, c->background,
			    &p->started);
	pthread_mutex_unlock(&c->starter->lock);
	if (err)
		return err;
	begin_time(p);
	if (read_all(c, p, &head, sizeof(head)) ||
	    head.type != EXTRACT_FRAME_READY)
		return -EIO;
	count_time(c, p);
	return 0;
}

/* Hands a descriptor over.  A process that is gone is replaced once. */
static int request(struct extract_client *c, enum starter_program which, int fd,
		   uint64_t size)
{
	struct extract_process *p = &c->processes[which];
	const struct extract_request r = { size, c->limits };
	int err = -EIO, attempt;

	if (which == STARTER_PDF)
		count_time(c, &c->processes[STARTER_DOCUMENTS]);
	if (p->owner != c->owner || p->files >= FILES_PER_PROCESS)
		end_process(c, which);
	for (attempt = 0; err && attempt < 2; attempt++) {
		if (!p->started.pid)
			err = start_process(c, which);
		else
			err = 0;
		if (err == -ENOENT)
			return err;
		if (!err)
			err = starter_send(p->started.requests, &r, sizeof(r),
					   fd);
		if (err)
			end_process(c, which);
	}
	if (err)
		return -EIO;
	p->owner = c->owner;
	p->files++;
	p->is_busy = true;
	p->depth = 0;
	begin_time(p);
	c->current = which;
	return 0;
}

/* ---- what a process says ---- */

static bool is_result(const struct extract_client *c,
		      const struct extract_result *r, uint32_t len)
{
	const struct picture_hashes *p = &r->picture;

	return len == sizeof(*r) && r->status < EXTRACT_STATUS_COUNT &&
	       r->kind < EXTRACT_KIND_COUNT &&
	       !(p->has & ~(uint32_t)(PICTURE_EXCHANGE | PICTURE_JUDGING)) &&
	       (!p->has || c->current == STARTER_PICTURES);
}

static bool is_believable(struct extract_client *c, struct extract_process *p,
			  const struct extract_frame *head)
{
	struct extract_result r;

	if (c->current == STARTER_PDF && head->type != EXTRACT_FRAME_TEXT &&
	    head->type != EXTRACT_FRAME_END)
		return false;
	if (c->current == STARTER_PICTURES && head->type != EXTRACT_FRAME_END)
		return false;
	switch (head->type) {
	case EXTRACT_FRAME_TEXT:
		c->text += head->len;
		return c->text <= c->limits.text &&
		       utf8_is_text(c->frame, head->len);
	case EXTRACT_FRAME_PDF:
		c->pdf_size += head->len;
		return p->depth && c->pdf_size <= c->limits.input;
	case EXTRACT_FRAME_BYTES:
		c->inside += head->len;
		return p->depth && c->inside <= c->limits.inflated;
	case EXTRACT_FRAME_MEMBER:
		c->text = 0;
		if (p->depth == EXTRACT_DEPTH_MAX)
			return false;
		c->doubts[++p->depth] = 0;
		return c->members++ < c->limits.members;
	case EXTRACT_FRAME_END:
		memcpy(&r, c->frame, sizeof(r));
		return is_result(c, &r, head->len);
	default:
		return false;
	}
}

static enum extract_status read_frame(struct extract_client *c,
				      struct extract_process *p,
				      struct extract_frame *head)
{
	enum extract_status status = read_all(c, p, head, sizeof(*head));

	if (status)
		return status;
	if (!head->len || head->len > sizeof(c->frame))
		return EXTRACT_DAMAGED;
	status = read_all(c, p, c->frame, head->len);
	if (!status && !is_believable(c, p, head))
		status = EXTRACT_DAMAGED;
	return status;
}

/* ---- a member that is a PDF ---- */

static void drop_pdf(struct extract_client *c)
{
	if (c->pdf >= 0)
		(void)close(c->pdf);
	c->pdf = -1;
	c->pdf_size = 0;
}

static int keep_pdf(struct extract_client *c, size_t len)
{
	if (c->pdf < 0)
		c->pdf = memfd_create("member", MFD_CLOEXEC);
	if (c->pdf < 0)
		return -EIO;
	return write(c->pdf, c->frame, len) == (ssize_t)len ? 0 : -EIO;
}

/* The file, or the member that has come, is one: kin-extract-pdf says what is
 * in it. */
static int begin_pdf(struct extract_client *c)
{
	int err = c->pdf >= 0 ? request(c, STARTER_PDF, c->pdf, c->pdf_size) :
				request(c, STARTER_PDF, c->file, c->size);

	if (err != -ENOENT)
		return err;
	drop_pdf(c);
	c->early.kind = EXTRACT_PDF;
	c->early.status = EXTRACT_UNSUPPORTED;
	return 0;
}

static bool is_pdf(const struct extract_client *c,
		   const struct extract_frame *head)
{
	struct extract_result r;

	if (head->type != EXTRACT_FRAME_END || c->current != STARTER_DOCUMENTS)
		return false;
	memcpy(&r, c->frame, sizeof(r));
	return r.kind == EXTRACT_PDF && r.status != EXTRACT_LIMIT;
}

/* ---- the caller's side ---- */

static void starter_free(struct extract_starter *s)
{
	(void)close(s->socket);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static int client_new(struct extract_starter *starter, bool background,
		      struct extract_client **out)
{
	struct extract_client *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	atomic_fetch_add(&starter->clients, 1);
	c->starter = starter;
	c->background = background;
	c->pdf = -1;
	*out = c;
	return 0;
}

int extract_open(const char *directory, struct extract_client **out)
{
	struct extract_starter *s = calloc(1, sizeof(*s));
	int err = s ? starter_open(directory, &s->socket) : -ENOMEM;

	if (err) {
		free(s);
		return err;
	}
	(void)pthread_mutex_init(&s->lock, NULL);
	err = client_new(s, false, out);
	if (err)
		starter_free(s);
	return err;
}

int extract_open_more(const struct extract_client *c, bool background,
		      struct extract_client **out)
{
	return client_new(c->starter, background, out);
}

void extract_stop_when(struct extract_client *c, bool (*stop)(void *arg),
		       void *arg)
{
	c->stop = stop;
	c->stop_arg = arg;
}

void extract_free(struct extract_client *c)
{
	enum starter_program i;

	if (!c)
		return;
	for (i = 0; i < STARTER_PROGRAMS; i++)
		end_process(c, i);
	drop_pdf(c);
	if (atomic_fetch_sub(&c->starter->clients, 1) == 1)
		starter_free(c->starter);
	free(c);
}

void extract_refuse_pictures(struct extract_client *c)
{
	c->starter->refuses_pictures = true;
}

/* Asks the program that reads such files. */
static int begin_file(struct extract_client *c)
{
	uint8_t head[SNIFF_PICTURE_BYTES];
	const ssize_t len = pread(c->file, head, sizeof(head), 0);
	int err;

	c->kind = sniff_picture(head, len > 0 ? (size_t)len : 0);
	err = c->kind && c->starter->refuses_pictures ?
		      -ENOENT :
		      request(c, c->kind ? STARTER_PICTURES : STARTER_DOCUMENTS,
			      c->file, c->size);
	if (err != -ENOENT)
		return err;
	c->early.kind = c->kind;
	c->early.status = EXTRACT_UNSUPPORTED;
	return 0;
}

int extract_begin(struct extract_client *c, int fd, uint32_t owner,
		  const struct extract_limits *limits)
{
	enum starter_program i;
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	drop_pdf(c);
	for (i = 0; i < STARTER_PROGRAMS; i++)
		if (c->processes[i].is_busy)
			end_process(c, i);
	c->owner = owner;
	c->limits = *limits;
	c->cpu_spent = 0;
	c->text = c->inside = 0;
	c->members = c->doubts[0] = 0;
	c->current = STARTER_DOCUMENTS;
	c->early = (struct extract_result){ .status = EXTRACT_OK,
					    .date = EXTRACT_NO_DATE };
	if (st.st_size == 0)
		c->early.status = EXTRACT_NO_TEXT;
	if (c->early.status)
		return 0;
	c->file = fd;
	c->size = (uint64_t)st.st_size;
	return begin_file(c);
}

/* What a member says of what it is in. */
static uint32_t doubts_of_member(const struct extract_result *r)
{
	if (r->status != EXTRACT_OK && r->status != EXTRACT_NO_TEXT)
		return EXTRACT_PARTIAL;
	return r->flags & (EXTRACT_PARTIAL | EXTRACT_DEGRADED);
}

/* The end of what the current process was asked for. */
static void give_end(struct extract_client *c,
		     const struct extract_result *result,
		     struct extract_piece *out)
{
	struct extract_process *p = &c->processes[c->current];

	out->result = *result;
	out->type = EXTRACT_PIECE_END;
	if (c->current == STARTER_PDF) {
		count_time(c, p);
		drop_pdf(c);
		p->is_busy = false;
		c->current = STARTER_DOCUMENTS;
		p = &c->processes[c->current];
		p->heard = clock_now_ms();
	}
	out->result.flags |= c->doubts[p->depth];
	if (p->depth) {
		p->depth--;
		c->doubts[p->depth] |= doubts_of_member(&out->result);
		c->text = 0;
		out->type = EXTRACT_PIECE_MEMBER_END;
	} else {
		p->is_busy = false;
	}
}

/* The process died, or is too slow, or talks nonsense. */
static void give_failure(struct extract_client *c, enum extract_status status,
			 struct extract_piece *out)
{
	const struct extract_result r = { .status = status,
					  .flags = EXTRACT_DIED,
					  .kind = c->current == STARTER_PDF ?
							  EXTRACT_PDF :
							  c->kind,
					  .date = EXTRACT_NO_DATE };

	if (c->current == STARTER_DOCUMENTS)
		c->processes[c->current].depth = 0;
	count_time(c, &c->processes[c->current]);
	end_process(c, c->current);
	give_end(c, &r, out);
}

static void give_frame(struct extract_client *c,
		       const struct extract_frame *head,
		       struct extract_piece *out)
{
	static const enum extract_piece_type types[] = {
		[EXTRACT_FRAME_TEXT] = EXTRACT_PIECE_TEXT,
		[EXTRACT_FRAME_BYTES] = EXTRACT_PIECE_BYTES,
		[EXTRACT_FRAME_MEMBER] = EXTRACT_PIECE_MEMBER,
	};
	struct extract_result r;

	out->data = c->frame;
	out->len = head->len;
	if (head->type == EXTRACT_FRAME_END) {
		memcpy(&r, c->frame, sizeof(r));
		give_end(c, &r, out);
	} else {
		out->type = types[head->type];
	}
}

int extract_next(struct extract_client *c, struct extract_piece *out)
{
	struct extract_process *p;
	struct extract_frame head;
	enum extract_status status;
	int err;

	*out = (struct extract_piece){ 0 };
	if (c->early.status) {
		give_end(c, &c->early, out);
		c->early.status = EXTRACT_OK;
		return 0;
	}
	for (;;) {
		p = &c->processes[c->current];
		status = read_frame(c, p, &head);
		if (status) {
			give_failure(c, status, out);
			return 0;
		}
		err = 0;
		if (head.type == EXTRACT_FRAME_PDF)
			err = keep_pdf(c, head.len);
		else if (is_pdf(c, &head))
			err = begin_pdf(c);
		else
			break;
		if (err)
			return err;
		if (c->early.status) {
			give_end(c, &c->early, out);
			c->early.status = EXTRACT_OK;
			return 0;
		}
	}
	give_frame(c, &head, out);
	return 0;
}
