/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

extern const struct suite group_open;
extern const struct suite group_write;
extern const struct suite group_rename;
extern const struct suite group_unlink;
extern const struct suite group_link;
extern const struct suite group_mkdir;
extern const struct suite group_chmod;
extern const struct suite group_permission;
extern const struct suite group_utimens;
extern const struct suite group_truncate;
extern const struct suite group_fallocate;
extern const struct suite group_seek;
extern const struct suite group_copy;
extern const struct suite group_mmap;
extern const struct suite group_locks;
extern const struct suite group_xattr;
extern const struct suite group_acl;
extern const struct suite group_readdir;
extern const struct suite group_stat;
extern const struct suite group_names;
extern const struct suite group_special;
extern const struct suite group_handle;
extern const struct suite group_notify;
extern const struct suite group_readonly;
extern const struct suite group_space;
extern const struct suite group_flags;

const struct suite *const groups[] = {
	&group_open,     &group_write,      &group_rename,
	&group_unlink,   &group_link,       &group_mkdir,
	&group_chmod,    &group_permission, &group_utimens,
	&group_truncate, &group_fallocate,  &group_seek,
	&group_copy,     &group_mmap,       &group_locks,
	&group_xattr,    &group_acl,        &group_readdir,
	&group_stat,     &group_names,      &group_special,
	&group_handle,   &group_notify,     &group_readonly,
	&group_space,    &group_flags,      NULL,
};
