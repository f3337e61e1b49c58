/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ops/xattr.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"
#include "core/extract/extract.h"
#include "fs/inode/cred.h"
#include "fs/fs.h"
#include "fs/inode/descriptor.h"
#include "fs/inode/inode.h"
#include "fs/ops/notify.h"
#include "fs/ops/reply.h"

#define PREFIX "user.kinfs."
#define STATE PREFIX "state"
#define STATUS PREFIX "status"
#define CHANGE PREFIX "change"
#define TEXT PREFIX "text"
#define WAIT PREFIX "wait"
#define CONTROL PREFIX "control"

static const struct digest_ops *find_digest(const char *name)
{
	return strncmp(name, "user.", 5) == 0 ? digest_find(name) : NULL;
}

bool xattr_is_derived(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 || find_digest(name);
}

/* ---- user.kinfs.status ---- */

/* The members for users that do not own the mount.  Numbers of contents or
 * bytes would tell such a user whether a content that it guesses exists. */
static json_t *public_status(const json_t *whole)
{
	static const char *const keys[][2] = {
		{ "digests" },          { "idle" },
		{ "mounted" },          { "passthrough" },
		{ "paused" },           { "rate" },
		{ "share_min" },        { "percent" },
		{ "similar_name" },     { "source" },
		{ "stalled" },          { "threshold" },
		{ "version" },          { "scan", "running" },
		{ "catalog", "error" }, { "watch", "on" },
		{ "texts", "state" },
	};
	json_t *o = json_object();
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *within = keys[i][0], *key = keys[i][1];
		json_t *from = json_object_get(whole, within), *part;

		if (!key) {
			if (from)
				json_object_set(o, within, from);
			continue;
		}
		part = json_object();
		if (json_object_get(from, key))
			json_object_set(part, key, json_object_get(from, key));
		json_object_set_new(o, within, part);
	}
	return o;
}

static int status_text(struct fs *fs, bool whole, struct buf *out)
{
	const struct options *o = &fs->options;
	json_t *status;
	char *text;
	int err = engine_status(fs->engine, &status);

	if (err)
		return err;
	json_object_set_new(status, "version", json_string(KINFS_VERSION));
	json_object_set_new(status, "mounted", json_true());
	json_object_set_new(status, "pid", json_integer(getpid()));
	json_object_set_new(status, "passthrough",
			    json_boolean(atomic_load(&fs->passthrough)));
	json_object_set_new(status, "watch", behind_status(fs));
	json_object_set_new(status, "similar_name",
			    o->similar == SIMILAR_OFF ?
				    json_null() :
				    json_string(o->similar_name));
	if (!whole) {
		json_t *part = public_status(status);

		json_decref(status);
		status = part;
	}
	text = status ? json_dumps(status, JSON_SORT_KEYS) : NULL;
	json_decref(status);
	if (!text)
		return -ENOMEM;
	err = buf_append_text(out, text);
	free(text);
	return err;
}

/* ---- the other attributes user.kinfs.* ---- */

/* "97 2026-11-25T08:15:02Z", for the owner of the mount: nobody knows who else
 * could read the earlier content. */
static int read_change(fuse_req_t req, struct fs *fs, struct inode *inode,
		       struct buf *out)
{
	struct catalog_change change;
	char date[64];
	time_t seconds;
	struct tm tm;
	int fd, err;

	if (!cred_owns_mount(fs, req))
		return -ENODATA;
	fd = inode_fd(fs, inode);
	err = fd < 0 ? fd : engine_last_change(fs->engine, fd, &change);
	inode_fd_close(inode, fd);
	if (err)
		return err;
	seconds =
		change.when_ns / 1000000000 - (change.when_ns % 1000000000 < 0);
	if (!gmtime_r(&seconds, &tm) ||
	    !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return -ENODATA;
	return change.kept < 0 ?
		       buf_append_format(out, "- %s", date) :
		       buf_append_format(out, "%d %s", change.kept, date);
}

/* "yes", "yes:partial:degraded", "none:caption", "picture", "encrypted",
 * "pending", "failed:damaged". */
static int read_text(fuse_req_t req, struct fs *fs, struct inode *inode,
		     struct buf *out)
{
	static const char *const names[TEXT_STATES] = {
		[TEXT_PENDING] = "pending", [TEXT_YES] = "yes",
		[TEXT_NONE] = "none",       [TEXT_ENCRYPTED] = "encrypted",
		[TEXT_FAILED] = "failed",   [TEXT_PICTURE] = "picture",
	};
	struct content_text text = { .state = TEXT_NONE };
	unsigned i;
	int fd, err;

	if (!S_ISREG(inode->type))
		return -ENODATA;
	fd = inode_fd(fs, inode);
	err = fd < 0 ? fd :
		       engine_text(fs->engine, fd, cred_owns_mount(fs, req),
				   &text);
	inode_fd_close(inode, fd);
	if (err)
		return err;
	if (text.state == TEXT_PENDING && !fs->texts)
		return buf_append_text(out, fs->options.no_text ?
						    "failed:off" :
						    "failed:not-installed");
	err = buf_append_text(out, names[text.state]);
	if (!err && text.state == TEXT_FAILED)
		err = buf_append_format(out, ":%s",
					text.why == TEXT_UNREADABLE ?
						"unsupported" :
						extract_status_name(text.why));
	if (text.state == TEXT_YES || text.state == TEXT_NONE)
		for (i = 0; i < EXTRACT_FLAGS && !err; i++)
			if (text.why & EXTRACT_DOUBTS & 1U << i)
				err = buf_append_format(out, ":%s",
							extract_flag_name(i));
	return err;
}

static void get_kinfs(fuse_req_t req, struct fs *fs, struct inode *inode,
		      const char *name, size_t size)
{
	struct file_digests answer;
	struct buf text = { 0 };
	int err = -ENODATA;

	if (strcmp(name, STATE) == 0) {
		err = xattr_ask(fs, inode, 0, &answer);
		if (!err) {
			err = xattr_format_state(&answer, &text);
			file_digests_release(&answer);
		}
	} else if (strcmp(name, TEXT) == 0) {
		err = read_text(req, fs, inode, &text);
	} else if (strcmp(name, CHANGE) == 0) {
		err = read_change(req, fs, inode, &text);
	} else if (strcmp(name, STATUS) == 0 && inode == fs->root) {
		err = status_text(fs, cred_owns_mount(fs, req), &text);
	} else if (strcmp(name, WAIT) == 0 && inode == fs->root) {
		/* The caller waits for the hashing, while it polls the
		 * status. */
		err = cred_owns_mount(fs, req) ? 0 : -EPERM;
		if (!err)
			engine_hurry(fs->engine);
	}
	if (err)
		fuse_reply_err(req, -err);
	else
		reply_xattr(req, text.data, text.len, size);
	buf_release(&text);
}

/* ---- the operations ---- */

void xattr_derived_get(fuse_req_t req, struct fs *fs, struct inode *inode,
		       const char *name, size_t size)
{
	const struct digest_ops *info = find_digest(name);

	if (info && S_ISREG(inode->type))
		xattr_query_digest(req, fs, inode, info, size);
	else if (info)
		fuse_reply_err(req, ENODATA);
	else if (S_ISREG(inode->type) && !xattr_may_read(req, fs, inode))
		fuse_reply_err(req, EACCES);
	else
		get_kinfs(req, fs, inode, name, size);
}

static int set_control(fuse_req_t req, struct fs *fs, const char *value,
		       size_t size)
{
	char words[32];

	if (!cred_owns_mount(fs, req))
		return EPERM;
	if (size >= sizeof(words))
		return EINVAL;
	memcpy(words, value, size);
	words[size] = '\0';
	if (strcmp(words, "rescan") == 0)
		engine_rescan(fs->engine);
	else if (strcmp(words, "pause") == 0 || strcmp(words, "resume") == 0)
		engine_pause(fs->engine, words[0] == 'p');
	else
		return EINVAL;
	return 0;
}

void xattr_derived_set(fuse_req_t req, struct fs *fs, struct inode *inode,
		       const char *name, const char *value, size_t size)
{
	int err = fs->options.xattrs == XATTRS_STRICT ? EPERM : 0;

	if (value && strcmp(name, CONTROL) == 0 && inode == fs->root)
		err = set_control(req, fs, value, size);
	fuse_reply_err(req, err);
}
