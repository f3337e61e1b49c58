/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/everywhere/everywhere.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/datagram.h"
#include "core/base/json.h"
#include "core/cli/cli.h"

#define SOCKET_PATH "share/socket"

static void doubt(struct everywhere *e, const char *text)
{
	if (text && !*e->reason)
		(void)snprintf(e->reason, sizeof(e->reason), "%s", text);
}

/* A descriptor of the directory of the mount's catalog. */
static int open_catalog(const struct mount *mount)
{
	char *path = mount_get_place(mount, "catalog", "path");
	int fd = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

	free(path);
	return fd;
}

/* The request goes there in a datagram, with the end of a connection to which
 * the answer is written.  The other end, or -1. */
static int ask_mount(struct everywhere *e, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	int dir = open_catalog(e->mount), ends[2] = { -1, -1 };
	bool sent;

	sent = text && dir >= 0 &&
	       !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) &&
	       !datagram_send(dir, SOCKET_PATH, text, strlen(text), ends[1]);
	free(text);
	if (dir >= 0)
		close(dir);
	if (ends[1] >= 0)
		close(ends[1]);
	if (sent)
		return ends[0];
	if (ends[0] >= 0)
		close(ends[0]);
	doubt(e, "no kin-share publishes this mount");
	return -1;
}

/* ---- question and answer ---- */

int everywhere_ask(struct everywhere *e, json_t *request,
		   int (*each)(void *arg, json_t *line), void *arg)
{
	struct client_query c;
	int fd, err, more = 0;

	if (!request)
		return -ENOMEM;
	fd = ask_mount(e, request);
	json_decref(request);
	if (fd < 0)
		return 0;
	err = client_answer(&c, fd);
	while (!err && (more = client_next(&c)) > 0)
		err = each(arg, c.line);
	if (more < 0)
		doubt(e, "kin-share ended before its answer did");
	else if (!err && !json_is_true(json_object_get(c.line, "complete")))
		doubt(e, json_string_value(json_object_get(c.line, "reason")));
	client_close(&c);
	return err;
}

/* ---- names ---- */

/* A path that is not told is the id of nothing that can be opened. */
char *everywhere_name(const json_t *file)
{
	const char *host = json_string_value(json_object_get(file, "host"));
	char *path = json_get_path(file, "path"), *name = NULL;

	if (asprintf(&name, "%s:%s", host ? host : "?",
		     path ? path : "(not told)") < 0)
		name = NULL;
	free(path);
	return name;
}

/* ---- the state ---- */

static int keep_line(void *arg, json_t *line)
{
	*(json_t **)arg = json_incref(line);
	return 0;
}

json_t *everywhere_status(const struct mount *mount)
{
	struct everywhere e = { .mount = mount };
	int catalog = open_catalog(mount);
	json_t *share = NULL;
	bool published = catalog >= 0 && !faccessat(catalog, "share", F_OK, 0);

	if (catalog >= 0)
		close(catalog);
	if (!published || everywhere_ask(&e, json_pack("{s:b}", "status", 1),
					 keep_line, &share))
		return NULL;
	return share ? share :
		       json_pack("{s:b, s:b, s:s}", "connected", 0, "current",
				 0, "error", "kin-share does not run");
}
