/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/similar/similar.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/fs.h"
#include "fs/ops/reply.h"
#include "fs/similar/similar_impl.h"

bool similar_claims(const struct fs *fs, fuse_ino_t parent, const char *name)
{
	return parent == FUSE_ROOT_ID && fs->similar &&
	       strcmp(name, fs->options.similar_name) == 0;
}

bool similar_refuses(fuse_req_t req, fuse_ino_t node, int err)
{
	if (!similar_is_node(node))
		return false;
	reply_error(req, err);
	return true;
}

bool similar_refuses_name(fuse_req_t req, fuse_ino_t parent, const char *name,
			  int claimed)
{
	if (similar_refuses(req, parent, -EROFS))
		return true;
	if (!similar_claims(fs_of(req), parent, name))
		return false;
	reply_error(req, claimed);
	return true;
}

bool similar_in_listing(const struct fs *fs)
{
	return fs->similar && fs->options.similar == SIMILAR_SHOW;
}

uint64_t similar_root_number(const struct fs *fs)
{
	return fs->similar->root_number;
}

int similar_open(struct fs *fs)
{
	struct similar *s;
	int err;

	if (fs->options.similar == SIMILAR_OFF)
		return 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	err = -pthread_mutex_init(&s->lock, NULL);
	TAILQ_INIT(&s->kept);
	if (err) {
		free(s);
		return err;
	}
	s->catalog_fd = -1;
	s->root_number = node_number_below(1, fs->options.similar_name);
	fs->similar = s;
	return 0;
}

void similar_set_catalog(struct fs *fs, const char *directory)
{
	if (fs->similar)
		fs->similar->catalog_fd =
			open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void similar_stop(struct fs *fs)
{
	if (fs->similar)
		opened_cancel_all(fs);
}

void similar_free(struct fs *fs)
{
	struct similar *s = fs->similar;

	if (!s)
		return;
	while (!LIST_EMPTY(&s->opened))
		opened_close(fs, LIST_FIRST(&s->opened));
	node_table_release(fs);
	if (s->catalog_fd >= 0)
		(void)close(s->catalog_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
	fs->similar = NULL;
}
