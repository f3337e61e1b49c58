/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/cli/cli.h"
#include "core/cli/progress.h"

/* ---- messages ---- */

static void complain_args(const char *path, const char *format, va_list args)
{
	char *message;
	int len = vasprintf(&message, format, args); /* first: %m is errno */

	progress_clear();
	(void)fflush(stdout);
	fputs("kin: ", stderr);
	if (path) {
		utf8_print_safe(stderr, path);
		fputs(": ", stderr);
	}
	utf8_print_safe(stderr, len < 0 ? err_text(-ENOMEM) : message);
	fputc('\n', stderr);
	if (len >= 0)
		free(message);
}

int cli_complain(const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain_args(path, format, args);
	va_end(args);
	return EXIT_FAILED;
}

static const char *meaning(int err)
{
	switch (-err) {
	case ENODEV:
		return "not in a kinfs mount; mount one with: "
		       "kinfs SOURCE MOUNTPOINT";
	case ENOTCONN:
		return "Transport endpoint is not connected; the daemon is "
		       "gone: fusermount3 -u the mount point and mount it "
		       "again";
	case ENOTSUP:
		return "not a regular file, not opened";
	case EXDEV:
		return "in a bind mount of a kinfs whose own mount point "
		       "cannot be reached from here";
	case ESTALE:
		return "it changed while it was read; try again";
	case ENODATA:
		return "too small, or too large, for this digest";
	case EBADMSG:
		return "the daemon's answer is not understood; kin and kinfs "
		       "should be of the same version";
	default:
		return err_text(err);
	}
}

int cli_complain_errno(const char *path, int err)
{
	return cli_complain(path, "%s", meaning(err));
}

bool cli_complain_hashing(const char *path)
{
	static bool is_told;
	struct mount mount = { 0 };
	struct buf left = { 0 };
	struct progress p = { .idle = true };

	if (!mount_find(path, &mount))
		progress_read(mount.status, &p);
	if (!p.idle && !is_told) {
		progress_append_files(&p, INFINITY, &left);
		cli_complain(path,
			     "not complete: hashing%s%s, %d %% done%s%s; the "
			     "answer covers what is hashed (kin wait)",
			     p.paused ? " is paused " : "",
			     p.paused ? p.paused : "", p.percent,
			     left.len ? ", " : "", left.len ? left.data : "");
		is_told = true;
	}
	buf_release(&left);
	mount_release(&mount);
	return !p.idle;
}

int cli_complain_incomplete(const char *path, uint64_t failed, uint64_t texts)
{
	if (failed || texts)
		cli_complain_failed(path, failed, texts);
	if (!cli_complain_hashing(path))
		cli_complain(path, failed || texts ?
					   "not complete (incomplete)" :
					   "not complete: not all files are "
					   "hashed, or some changed "
					   "(incomplete); kin wait waits for "
					   "that");
	return EXIT_INCOMPLETE;
}

void cli_append_failed_texts(uint64_t texts, struct buf *out)
{
	if (texts)
		(void)buf_append_format(
			out, "%sthe text of %llu %s could not be read",
			out->len ? " and " : "", (unsigned long long)texts,
			text_plural(texts, "document or archive",
				    "documents and archives"));
}

void cli_complain_failed(const char *path, uint64_t failed, uint64_t texts)
{
	struct buf what = { 0 };

	if (failed)
		(void)buf_append_format(
			&what, "%llu %s could not be hashed or looked at",
			(unsigned long long)failed,
			text_plural(failed, "file", "files"));
	cli_append_failed_texts(texts, &what);
	cli_complain(path, "%s: kin status --failed",
		     what.data ? what.data : "");
	buf_release(&what);
}

int cli_usage_error(const struct command *command, const char *format, ...)
{
	va_list args;

	if (format) {
		va_start(args, format);
		complain_args(command->name, format, args);
		va_end(args);
	}
	fprintf(stderr, "usage: kin %s\n", command->synopsis);
	return EXIT_USAGE;
}

int cli_print_json(json_t *value)
{
	struct buf line = { 0 };
	bool failed = json_append(&line, value, 0);

	if (!failed)
		failed = puts(line.data) < 0;
	buf_release(&line);
	return failed ? cli_complain(NULL, "cannot write JSON: %m") : EXIT_OK;
}

long long told_number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value < 0 ? 0 : (long long)value;
}

bool told_flag(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

const char *told_text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "-";
}

const char *size_text(uint64_t bytes, char out[TEXT_SIZE_ROOM])
{
	return text_format_size((double)bytes, TEXT_UNITS_BRIEF, out);
}

/* ---- mounts ---- */

int mount_path_or_complain(const char *path, struct mount *mount,
			   char **rel_out)
{
	struct mount found = { 0 };
	int code = mount_find(path, &found);

	if (code)
		return cli_complain_errno(path, code);
	if (mount->root && strcmp(found.root, mount->root) != 0)
		code = cli_complain(path, "not in the mount %s", mount->root);
	if (!code) {
		*rel_out = found.rel;
		found.rel = NULL;
	}
	if (mount->root)
		mount_release(&found);
	else
		*mount = found;
	return code;
}

int mount_listings_or_complain(const struct mount *m)
{
	return m->listings ? EXIT_OK :
			     cli_complain(m->root,
					  "mounted without listings; mount it "
					  "with -o similar=hide");
}
