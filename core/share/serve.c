/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/share/ask.h"
#include "core/share/share.h"

/* Requests that are answered at a time; the others get no answer. */
enum { CLIENTS_MAX = 8, LOOK_MS = 100, CLIENT_S = 10 };
/* Room for one descriptor is aligned to that for two. */
#define FDS_ROOM ((CMSG_SPACE(sizeof(int)) - CMSG_LEN(0)) / sizeof(int))

struct serve {
	const struct share_options *options;
	struct session *sessions;
	struct share_report *report;
	const atomic_bool *stop;
	int sockets[SHARE_CATALOGS_MAX]; /* of the catalogs */
	pthread_t thread;
	pthread_mutex_t ask_lock; /* db and ask */
	struct share_db db;
	struct ask ask;
	pthread_mutex_t lock; /* clients */
	pthread_cond_t left;
	unsigned clients;
};

struct client {
	struct serve *serve;
	const struct session *session;
	int fd;
	char *line; /* owned; the request */
	size_t len;
};

/* ---- sockets ---- */

/* The path of a directory may be longer than that of a socket. */
static int bind_in(const char *directory, const char *name, int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : 0;

	if (err)
		return err;
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/%s", dir, name);
	(void)unlink(address.sun_path);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0600))
		err = -errno;
	(void)close(dir);
	return err;
}

static int make_socket(const char *directory, int *out)
{
	int err, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	err = bind_in(directory, SHARE_SOCKET, fd);
	if (err)
		(void)close(fd);
	else
		*out = fd;
	return err;
}

/* ---- one request ---- */

static json_t *status_of(void *arg)
{
	const struct client *c = arg;
	struct share_report *report = c->serve->report;
	char id[DB_UUID_TEXT + 1];
	char message[sizeof(report->message)];

	db_format_uuid(share_state_identity(c->session->state)->host, id);
	(void)pthread_mutex_lock(&report->lock);
	memcpy(message, report->message, sizeof(message));
	(void)pthread_mutex_unlock(&report->lock);
	return json_pack("{s:o, s:s, s:b, s:b, s:o, s:I, s:I}", "host",
			 ask_text(c->serve->options->rules.label), "id", id,
			 "connected", atomic_load(&report->is_connected),
			 "current", atomic_load(&c->session->is_current),
			 "error", ask_text(message), "published",
			 (json_int_t)atomic_load(&c->session->published),
			 "batches",
			 (json_int_t)atomic_load(&c->session->batches));
}

static bool is_for_groups(const char *line, size_t len)
{
	json_t *request = json_loadb(line, len, 0, NULL);
	bool groups = json_object_get(request, "groups") != NULL;

	json_decref(request);
	return groups;
}

/* A reader that is slow does not keep others from asking. */
static void answer_in_memory(struct client *c, const char *line, size_t len,
			     FILE *out)
{
	struct serve *s = c->serve;
	char *text = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	(void)pthread_mutex_lock(&s->ask_lock);
	s->ask.arg = c;
	s->ask.but = share_state_identity(c->session->state)->host;
	(void)ask_answer(&s->ask, line, len, memory);
	(void)pthread_mutex_unlock(&s->ask_lock);
	if (!fclose(memory))
		(void)fwrite(text, 1, size, out);
	free(text);
}

/* Groups take long, and have a connection to the database of their own. */
static void answer_line(struct client *c, const char *line, size_t len,
			FILE *out)
{
	struct serve *s = c->serve;
	struct share_db db = { .stop = s->stop };
	struct ask ask = s->ask;

	ask.arg = c;
	if (is_for_groups(line, len)) {
		ask.db = &db;
		ask.is_checked = false;
		(void)ask_answer(&ask, line, len, out);
		db_close(&db);
		return;
	}
	answer_in_memory(c, line, len, out);
}

static void *run_client(void *arg)
{
	struct client *c = arg;
	struct serve *s = c->serve;
	FILE *out = fdopen(c->fd, "w");

	if (out) {
		answer_line(c, c->line, c->len, out);
		(void)fclose(out);
	} else {
		(void)close(c->fd);
	}
	free(c->line);
	free(c);
	(void)pthread_mutex_lock(&s->lock);
	s->clients--;
	(void)pthread_cond_signal(&s->left);
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

static bool take_place(struct serve *s)
{
	bool free_place;

	(void)pthread_mutex_lock(&s->lock);
	free_place = s->clients < CLIENTS_MAX;
	s->clients += free_place;
	(void)pthread_mutex_unlock(&s->lock);
	return free_place;
}

static void give_place(struct serve *s)
{
	(void)pthread_mutex_lock(&s->lock);
	s->clients--;
	(void)pthread_mutex_unlock(&s->lock);
}

/* Takes the descriptor and the line. */
static void start_client(struct serve *s, size_t i, int fd, char *line,
			 size_t len)
{
	struct client *c = calloc(1, sizeof(*c));
	pthread_t thread;

	if (c && take_place(s)) {
		*c = (struct client){ s, &s->sessions[i], fd, line, len };
		if (!pthread_create(&thread, NULL, run_client, c)) {
			(void)pthread_detach(thread);
			return;
		}
		give_place(s);
	}
	free(c);
	free(line);
	(void)close(fd);
}

/* The descriptor that came with it, or -1.  More than one: none, and all are
 * closed. */
static int descriptor_of(struct msghdr *message)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(message);
	int fds[FDS_ROOM];
	size_t i, count;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(fds, CMSG_DATA(c), count * sizeof(int));
	if (count == 1)
		return fds[0];
	for (i = 0; i < count; i++)
		(void)close(fds[i]);
	return -1;
}

/* A reader that does not read has its answer cut: of a connection after
 * CLIENT_S, of a pipe when it is full. */
static void limit_writing(int fd)
{
	const struct timeval limit = { .tv_sec = CLIENT_S };

	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		(void)fcntl(fd, F_SETFL, O_WRONLY | O_NONBLOCK);
}

static void take_datagram(struct serve *s, size_t i)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char *line = malloc(ASK_BYTES_MAX);
	struct iovec data = { line, ASK_BYTES_MAX };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t len = -1;
	int fd = -1;

	if (line)
		len = recvmsg(s->sockets[i], &message,
			      MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (len > 0)
		fd = descriptor_of(&message);
	if (fd < 0) {
		free(line);
		return;
	}
	limit_writing(fd);
	start_client(s, i, fd, line, (size_t)len);
}

/* ---- the thread ---- */

static void *run(void *arg)
{
	struct pollfd polls[SHARE_CATALOGS_MAX];
	struct serve *s = arg;
	size_t i, count = s->options->catalog_count;

	for (i = 0; i < count; i++)
		polls[i] = (struct pollfd){ .fd = s->sockets[i],
					    .events = POLLIN };
	while (!atomic_load(s->stop)) {
		if (poll(polls, count, LOOK_MS) <= 0)
			continue;
		for (i = 0; i < count; i++)
			if (polls[i].revents)
				take_datagram(s, i);
	}
	return NULL;
}

static void serve_free(struct serve *s)
{
	size_t i;

	for (i = 0; i < s->options->catalog_count; i++)
		if (s->sockets[i] >= 0)
			(void)close(s->sockets[i]);
	db_close(&s->db);
	free(s);
}

int serve_start(const struct share_options *o, struct session *sessions,
		struct share_report *report, const atomic_bool *stop,
		struct serve **out)
{
	struct serve *s = calloc(1, sizeof(*s));
	size_t i;
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->options = o;
	s->sessions = sessions;
	s->report = report;
	s->stop = stop;
	s->db.stop = stop;
	s->ask = (struct ask){ .db = &s->db,
			       .conninfo = o->conninfo,
			       .wait_ms = o->wait_ms,
			       .status = status_of };
	(void)pthread_mutex_init(&s->ask_lock, NULL);
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->left, NULL);
	for (i = 0; i < o->catalog_count; i++)
		s->sockets[i] = -1;
	for (i = 0; i < o->catalog_count && !err; i++)
		err = make_socket(sessions[i].share_directory, &s->sockets[i]);
	if (!err)
		err = -pthread_create(&s->thread, NULL, run, s);
	if (err)
		serve_free(s);
	else
		*out = s;
	return err;
}

/* stop is set; the connections see that, too. */
void serve_stop(struct serve *s)
{
	if (!s)
		return;
	(void)pthread_join(s->thread, NULL);
	(void)pthread_mutex_lock(&s->lock);
	while (s->clients)
		(void)pthread_cond_wait(&s->left, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
	serve_free(s);
}
