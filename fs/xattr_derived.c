/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/xattr_derived.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/engine/engine.h"
#include "fs/cred.h"
#include "fs/fs.h"
#include "fs/ops.h"
#include "fs/status.h"
#include "fs/xattr_query.h"

#define PREFIX "user.kinfs."
#define STATE PREFIX "state"
#define STATUS PREFIX "status"
#define WAIT PREFIX "wait"
#define CONTROL PREFIX "control"

static const struct digest_info *find_digest(const char *name)
{
	return strncmp(name, "user.", 5) == 0 ? digest_find(name) : NULL;
}

bool xattr_is_derived(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 || find_digest(name);
}

void xattr_reply(fuse_req_t req, const void *data, size_t len, size_t size)
{
	if (!size)
		fuse_reply_xattr(req, len);
	else if (len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, data, len);
}

/* All names that there may be. */
static int list_possible(struct xattr_list *l, uint32_t set)
{
	int id, err = 0;

	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		const char *name = digest_infos[id].attribute;

		if (set & DIGEST_BIT(id))
			err = buf_append(&l->names, name, strlen(name) + 1);
	}
	return err;
}

/* What may be in the list when it is read: between the two calls it becomes
 * longer when the digests come. */
static void list_expected(struct xattr_list *l, struct fs *fs,
			  struct inode *inode)
{
	struct engine_answer answer;

	if (xattr_ask(fs, inode, &answer))
		return;
	if (answer.state == ENGINE_FRESH)
		(void)xattr_list_digests(l, &answer.digests);
	else if (answer.state != ENGINE_SKIPPED &&
		 answer.state != ENGINE_FAILED)
		(void)list_possible(l, fs->options.digest_set & DIGEST_DEFAULT);
	engine_answer_release(&answer);
}

bool xattr_may_read(fuse_req_t req, struct fs *fs, struct inode *inode)
{
	struct path_fd path;
	struct cred saved;
	bool may = false;

	if (inode_path_fd(fs, inode, &path))
		return false;
	if (!cred_assume(fs, req, &saved)) {
		may = !faccessat(path.fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS);
		cred_restore(fs, &saved);
	}
	path_fd_close(&path);
	return may;
}

/* ---- user.kinfs.state ---- */

int xattr_format_state(const struct engine_answer *answer, struct buf *out)
{
	switch (answer->state) {
	case ENGINE_FRESH:
		return buf_append_text(out, "fresh");
	case ENGINE_PENDING:
		return buf_append_text(out, "pending");
	case ENGINE_BUSY:
	case ENGINE_CLOSED:
		return buf_append_text(out, "busy");
	case ENGINE_SKIPPED:
		return buf_append_format(out, "skipped:%s", answer->rule);
	case ENGINE_FAILED:
		return buf_append_format(out, "error:%s",
					 err_name(answer->error));
	}
	return -EINVAL;
}

static int read_state(struct fs *fs, struct inode *inode, struct buf *out)
{
	struct engine_answer answer;
	int err = xattr_ask(fs, inode, &answer);

	if (err)
		return err;
	err = xattr_format_state(&answer, out);
	engine_answer_release(&answer);
	return err;
}

/* The reader polls the status; here it says why. */
static int wait_for_all(fuse_req_t req, struct fs *fs)
{
	if (!cred_owns_mount(fs, req))
		return -EPERM;
	engine_hurry(fs->engine);
	return 0;
}

static void get_own(fuse_req_t req, struct fs *fs, struct inode *inode,
		    const char *name, size_t size)
{
	struct buf text = { 0 };
	int err = -ENODATA;

	if (strcmp(name, STATE) == 0 && S_ISREG(inode->type))
		err = read_state(fs, inode, &text);
	else if (strcmp(name, STATUS) == 0 && inode == fs->root)
		err = status_text(fs, cred_owns_mount(fs, req), &text);
	else if (strcmp(name, WAIT) == 0 && inode == fs->root)
		err = wait_for_all(req, fs);
	if (err)
		fuse_reply_err(req, -err);
	else
		xattr_reply(req, text.data, text.len, size);
	buf_release(&text);
}

/* ---- the operations ---- */

void xattr_derived_get(fuse_req_t req, struct fs *fs, struct inode *inode,
		       const char *name, size_t size)
{
	const struct digest_info *info = find_digest(name);

	if (S_ISREG(inode->type) && !xattr_may_read(req, fs, inode))
		fuse_reply_err(req, EACCES);
	else if (!info)
		get_own(req, fs, inode, name, size);
	else if (!S_ISREG(inode->type) ||
		 !(fs->options.digest_set & DIGEST_BIT(info->id)))
		fuse_reply_err(req, ENODATA);
	else
		xattr_query(req, fs, inode, info, size, NULL);
}

/* Without the names of derived attributes: real ones of that name, copied
 * into SOURCE by some tool, must not show. */
static int list_real(struct xattr_list *l, const char *names, size_t len)
{
	const char *name = names, *end = names + len;
	int err = 0;

	while (name < end && !err) {
		size_t one = strlen(name) + 1;

		if (!xattr_is_derived(name))
			err = buf_append(&l->names, name, one);
		name += one;
	}
	return err;
}

/* What the file's own attributes leave of the room for digests. */
static size_t room_beside(struct fs *fs, struct inode *inode,
			  const struct buf *names)
{
	size_t room = XATTR_ROOM, at = 0;

	if (fs->options.xattrs == XATTRS_ALL)
		return SIZE_MAX;
	while (at < names->len && room) {
		const char *name = (const char *)names->data + at;
		ssize_t len = xattr_lower_size(fs, inode, name);
		size_t need = strlen(name) + (len > 0 ? (size_t)len : 0);

		room -= need < room ? need : room;
		at += strlen(name) + 1;
	}
	return room;
}

static int list_new(fuse_req_t req, struct fs *fs, struct inode *inode,
		    size_t size, struct xattr_list **list_out)
{
	struct xattr_list *l = calloc(1, sizeof(*l));
	char *lower = NULL;
	size_t len = 0;
	int err = l ? xattr_lower_list(fs, inode, &lower, &len) : -ENOMEM;

	if (!err) {
		l->size = size;
		xattr_drop_hidden(req, lower, &len);
		err = list_real(l, lower, len);
		free(lower);
	}
	if (err && l) {
		buf_release(&l->names);
		free(l);
	} else {
		*list_out = l;
	}
	return err;
}

void xattr_derived_list(fuse_req_t req, struct fs *fs, struct inode *inode,
			size_t size)
{
	struct xattr_list *list;
	int err = list_new(req, fs, inode, size, &list);
	bool more = !err && S_ISREG(inode->type) &&
		    fs->options.xattrs != XATTRS_HIDE &&
		    xattr_may_read(req, fs, inode);

	if (err) {
		fuse_reply_err(req, -err);
		return;
	}
	if (more)
		list->room = room_beside(fs, inode, &list->names);
	if (more && size) {
		xattr_query(req, fs, inode, NULL, size, list);
	} else {
		if (more)
			list_expected(list, fs, inode);
		xattr_list_reply(req, list);
	}
}

/* "check", perhaps with the word "read". */
static int control_check(struct fs *fs, char *words)
{
	bool read = false;
	char *word, *rest = NULL;

	for (word = strtok_r(words, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (strcmp(word, "read") != 0)
			return EINVAL;
		read = true;
	}
	engine_check(fs->engine, read);
	return 0;
}

static int control(fuse_req_t req, struct fs *fs, const char *value,
		   size_t size)
{
	char words[32];

	if (!cred_owns_mount(fs, req))
		return EPERM;
	if (size >= sizeof(words))
		return EINVAL;
	memcpy(words, value, size);
	words[size] = '\0';
	if (strncmp(words, "check", 5) == 0 && (size == 5 || words[5] == ' '))
		return control_check(fs, words + 5);
	if (strcmp(words, "rescan") == 0)
		engine_rescan(fs->engine);
	else if (strcmp(words, "pause") == 0 || strcmp(words, "resume") == 0)
		engine_pause(fs->engine, words[0] == 'p');
	else
		return EINVAL;
	return 0;
}

void xattr_derived_set(fuse_req_t req, struct fs *fs, struct inode *inode,
		       const char *name, const char *value, size_t size,
		       int flags)
{
	int err = fs->options.xattrs == XATTRS_STRICT ? EPERM : 0;

	(void)flags;
	if (strcmp(name, CONTROL) == 0 && inode == fs->root)
		err = control(req, fs, value, size);
	fuse_reply_err(req, err);
}

void xattr_derived_remove(fuse_req_t req, struct fs *fs, struct inode *inode,
			  const char *name)
{
	(void)inode;
	(void)name;
	fuse_reply_err(req, fs->options.xattrs == XATTRS_STRICT ? EPERM : 0);
}
