/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/datagram.h"
#include "core/base/json.h"
#include "core/client/question.h"
#include "core/share/ask.h"
#include "core/share/share.h"

/* Requests that are answered at a time; the others get no answer. */
enum { CLIENTS_MAX = 8, LOOK_MS = 100, CLIENT_S = 10 };

struct serve {
	struct share_daemon *daemon;
	int sockets[SHARE_CATALOGS_MAX]; /* of the catalogs */
	pthread_t thread;
	pthread_mutex_t ask_lock; /* db and ask */
	struct share_db db;
	struct ask ask;
	sem_t room; /* for so many clients more */
};

struct client {
	struct serve *serve;
	const struct session *session;
	int fd;
	size_t len;
	char request[ASK_BYTES_MAX];
};

static void answer_status(const struct client *c, struct buf *out)
{
	struct share_daemon *d = c->serve->daemon;
	char message[sizeof(d->message)];

	(void)pthread_mutex_lock(&d->lock);
	memcpy(message, d->message, sizeof(message));
	(void)pthread_mutex_unlock(&d->lock);
	if (!json_append_line(
		    out,
		    json_pack("{s:o, s:s, s:b, s:b, s:o, s:I, s:I}", "host",
			      json_text(d->options->rules.label), "id",
			      c->session->host, "connected",
			      atomic_load(&d->is_connected), "current",
			      atomic_load(&c->session->is_current), "error",
			      json_text(message), "published",
			      (json_int_t)atomic_load(&c->session->published),
			      "batches",
			      (json_int_t)atomic_load(&c->session->batches))))
		(void)ask_end(out, "");
}

/* Groups take long, and have a connection to the database of their own.  Other
 * questions share one; a reader that is slow does not keep others from it. */
static void answer(const struct client *c, json_t *request, struct buf *out)
{
	struct serve *s = c->serve;
	struct share_db db = { .stop = s->daemon->stop };
	struct ask own = { .db = &db,
			   .conninfo = s->daemon->options->conninfo,
			   .wait_ms = s->daemon->options->wait_ms };

	if (question_is_for(request, "groups")) {
		(void)ask_answer(&own, request, out);
		db_close(&db);
		return;
	}
	(void)pthread_mutex_lock(&s->ask_lock);
	s->ask.but = c->session->host;
	(void)ask_answer(&s->ask, request, out);
	(void)pthread_mutex_unlock(&s->ask_lock);
}

static void *run_client(void *arg)
{
	struct client *c = arg;
	struct serve *s = c->serve;
	json_t *request = json_loadb(c->request, c->len, 0, NULL);
	FILE *file = fdopen(c->fd, "w");
	struct buf out = { 0 };

	if (question_is_for(request, "status"))
		answer_status(c, &out);
	else
		answer(c, request, &out);
	if (file) {
		(void)fwrite(out.data, 1, out.len, file);
		(void)fclose(file);
	} else {
		(void)close(c->fd);
	}
	buf_release(&out);
	json_decref(request);
	free(c);
	(void)sem_post(&s->room);
	return NULL;
}

static bool receive(struct client *c, int socket)
{
	const struct timeval limit = { .tv_sec = CLIENT_S };
	ssize_t len = datagram_receive(socket, c->request, sizeof(c->request),
				       MSG_DONTWAIT, &c->fd);

	if (len < 0)
		return false;
	c->len = (size_t)len;
	/* A reader that does not read has its answer cut: of a connection after
	 * a while, of a pipe when it is full. */
	if (setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		(void)fcntl(c->fd, F_SETFL, O_WRONLY | O_NONBLOCK);
	return true;
}

static void take_request(struct serve *s, size_t i)
{
	struct client *c = malloc(sizeof(*c));
	pthread_t thread;

	if (!c || !receive(c, s->sockets[i])) {
		free(c);
		return;
	}
	c->serve = s;
	c->session = &s->daemon->sessions[i];
	if (!sem_trywait(&s->room)) {
		if (!pthread_create(&thread, NULL, run_client, c)) {
			(void)pthread_detach(thread);
			return;
		}
		(void)sem_post(&s->room);
	}
	(void)close(c->fd);
	free(c);
}

static void *run(void *arg)
{
	struct pollfd polls[SHARE_CATALOGS_MAX];
	struct serve *s = arg;
	size_t i, count = s->daemon->options->catalog_count;

	for (i = 0; i < count; i++)
		polls[i] = (struct pollfd){ .fd = s->sockets[i],
					    .events = POLLIN };
	while (!atomic_load(s->daemon->stop)) {
		if (poll(polls, count, LOOK_MS) <= 0)
			continue;
		for (i = 0; i < count; i++)
			if (polls[i].revents)
				take_request(s, i);
	}
	return NULL;
}

/* The path of a directory may be longer than that of a socket. */
static int make_socket(const char *directory, int *out)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int dir = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = 0;

	*out = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path),
		       "/proc/self/fd/%d/" SHARE_SOCKET, dir);
	if (dir >= 0)
		(void)unlink(address.sun_path);
	if (dir < 0 || *out < 0 ||
	    bind(*out, (struct sockaddr *)&address, sizeof(address)) ||
	    chmod(address.sun_path, 0600))
		err = -errno;
	if (dir >= 0)
		(void)close(dir);
	return err;
}

static void serve_free(struct serve *s)
{
	size_t i;

	for (i = 0; i < s->daemon->options->catalog_count; i++)
		if (s->sockets[i] >= 0)
			(void)close(s->sockets[i]);
	db_close(&s->db);
	free(s);
}

int serve_start(struct share_daemon *d, struct serve **out)
{
	const struct share_options *o = d->options;
	struct serve *s = calloc(1, sizeof(*s));
	size_t i;
	int err = 0;

	if (!s)
		return -ENOMEM;
	s->daemon = d;
	s->db.stop = d->stop;
	s->ask = (struct ask){ .db = &s->db,
			       .conninfo = o->conninfo,
			       .wait_ms = o->wait_ms };
	(void)pthread_mutex_init(&s->ask_lock, NULL);
	(void)sem_init(&s->room, 0, CLIENTS_MAX);
	for (i = 0; i < o->catalog_count; i++)
		s->sockets[i] = -1;
	for (i = 0; i < o->catalog_count && !err; i++)
		err = make_socket(d->sessions[i].share_directory,
				  &s->sockets[i]);
	if (!err)
		err = -pthread_create(&s->thread, NULL, run, s);
	if (err)
		serve_free(s);
	else
		*out = s;
	return err;
}

void serve_stop(struct serve *s)
{
	unsigned left;

	if (!s)
		return;
	(void)pthread_join(s->thread, NULL);
	for (left = CLIENTS_MAX; left; left -= !sem_wait(&s->room))
		;
	serve_free(s);
}
