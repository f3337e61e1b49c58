/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>

#include "core/cli/check.h"

#define POLL_FIRST_MS 10
#define POLL_MOST_MS 500

/* ---- asking ---- */

static int complain_mount(const struct mount *mount, int err)
{
	if (err == -EINVAL)
		cli_complain(mount->root,
			     "its kinfs is too old to check itself");
	else if (err == -ENODATA || err == -ENOTSUP || err == -ENOENT)
		cli_complain(mount->root, "unmounted meanwhile");
	else
		cli_complain_errno(mount->root, err);
	return EXIT_FAILED;
}

static int request(const struct check_report *c, const struct mount *mount)
{
	const char *words = c->read ? "check read" : "check";

	if (!setxattr(mount->root, CONTROL_ATTRIBUTE, words, strlen(words), 0))
		return EXIT_OK;
	return complain_mount(mount, -errno);
}

static json_int_t number(const json_t *status, const char *key)
{
	const json_t *check = json_object_get(status, "check");

	return json_integer_value(json_object_get(check, key));
}

static void pause_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000,
			      .tv_nsec = ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

/* The status in which the request is done.  Others may ask at the same time:
 * what they asked for before is done with ours. */
static int wait_for_answer(const struct mount *mount, json_t **out)
{
	json_int_t wanted = 0;
	long ms = POLL_FIRST_MS;
	json_t *status;
	int err;

	for (;;) {
		err = mount_get_status(mount->root, &status);
		if (err)
			return complain_mount(mount, err);
		if (!wanted)
			wanted = number(status, "requested");
		if (number(status, "finished") >= wanted)
			break;
		json_decref(status);
		pause_ms(ms);
		ms = ms < POLL_MOST_MS ? 2 * ms : POLL_MOST_MS;
	}
	*out = status;
	return EXIT_OK;
}

/* ---- taking the answer ---- */

static const char *text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static int adopt_places(struct check_report *c, const json_t *status)
{
	const char *source = text(status, "source");
	const char *catalog = text(json_object_get(status, "catalog"), "path");

	c->source = source ? strdup(source) : NULL;
	c->directory = catalog ? strdup(catalog) : NULL;
	return c->source && c->directory ? 0 : -EBADMSG;
}

static void adopt_findings(struct check_report *c, const json_t *result)
{
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(result, "findings"), i, f)
	{
		const char *kind = text(f, "kind"), *what = text(f, "text");

		if (kind && what)
			check_report_add(c, kind, text(f, "path"), what);
	}
}

static int adopt(struct check_report *c, const struct mount *mount,
		 const json_t *status)
{
	const json_t *check = json_object_get(status, "check");
	const json_t *result = json_object_get(check, "result");
	int err = adopt_places(c, status);

	if (!err && !json_is_object(result))
		err = -EBADMSG;
	if (err)
		return complain_mount(mount, err);
	if (text(result, "error")) {
		cli_complain(c->directory, "%s", text(result, "error"));
		return EXIT_FAILED;
	}
	check_counts_from_json(result, &c->counts);
	adopt_findings(c, result);
	return check_report_print(c);
}

int check_mount(struct check_report *c, const struct mount *mount)
{
	json_t *status = NULL;
	int code = request(c, mount);

	if (!code)
		code = wait_for_answer(mount, &status);
	if (code)
		return code;
	code = adopt(c, mount, status);
	json_decref(status);
	return code;
}
