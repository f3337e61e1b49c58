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
 * the answer is written. */
int everywhere_ask(struct everywhere *e, const struct mount *mount,
		   json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT);
	int dir = open_catalog(mount), ends[2] = { -1, -1 };
	const bool is_good = request;
	bool sent;

	*e = (struct everywhere){ 0 };
	json_decref(request);
	sent = text && dir >= 0 &&
	       !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) &&
	       !datagram_send(dir, SOCKET_PATH, text, strlen(text), ends[1]);
	free(text);
	if (dir >= 0)
		close(dir);
	if (ends[1] >= 0)
		close(ends[1]);
	if (sent)
		return client_answer(&e->answer, ends[0]);
	if (ends[0] >= 0)
		close(ends[0]);
	doubt(e, "no kin-share publishes this mount");
	return is_good ? 0 : -ENOMEM;
}

json_t *everywhere_next(struct everywhere *e)
{
	const int more = e->answer.lines.in ? client_next(&e->answer) : 0;
	json_t *line = e->answer.line;

	if (more < 0)
		doubt(e, "kin-share ended before its answer did");
	else if (!more && line &&
		 !json_is_true(json_object_get(line, "complete")))
		doubt(e, json_string_value(json_object_get(line, "reason")));
	return more > 0 ? line : NULL;
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

json_t *everywhere_status(const struct mount *mount)
{
	struct everywhere e;
	int catalog = open_catalog(mount);
	json_t *share = NULL;
	bool published = catalog >= 0 && !faccessat(catalog, "share", F_OK, 0);

	if (catalog >= 0)
		close(catalog);
	if (!published)
		return NULL;
	if (!everywhere_ask(&e, mount, json_pack("{s:b}", "status", 1)))
		share = json_incref(everywhere_next(&e));
	client_close(&e.answer);
	return share ? share :
		       json_pack("{s:b, s:b, s:s}", "connected", 0, "current",
				 0, "error", "kin-share does not run");
}
