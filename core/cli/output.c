/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/cli/cli.h"

/* ---- text ---- */

static bool is_special(unsigned char c, enum escape how)
{
	if (how == ESCAPE_TERMINAL)
		return c < 32 || c == 127;
	return c == '\\' || c == '\n' || c == '\r';
}

bool cli_needs_escape(const char *text, enum escape how)
{
	for (; *text; text++)
		if (is_special((unsigned char)*text, how))
			return true;
	return false;
}

static char sum_escape(unsigned char c)
{
	return c == '\n' ? 'n' : c == '\r' ? 'r' : (char)c;
}

static void print_special(FILE *to, unsigned char c, enum escape how)
{
	if (how != ESCAPE_SUM)
		fprintf(to, "\\%03o", c);
	else
		fprintf(to, "\\%c", sum_escape(c));
}

static void fprint_escaped(FILE *to, const char *text, enum escape how)
{
	for (; *text; text++)
		if (is_special((unsigned char)*text, how))
			print_special(to, (unsigned char)*text, how);
		else
			putc(*text, to);
}

void cli_print_escaped(const char *text, enum escape how)
{
	fprint_escaped(stdout, text, how);
}

int cli_append_escaped(struct buf *out, const char *text, enum escape how)
{
	unsigned char c;
	int err = 0;

	for (; *text && !err; text++) {
		c = (unsigned char)*text;
		if (!is_special(c, how))
			err = buf_append(out, text, 1);
		else if (how != ESCAPE_SUM)
			err = buf_append_format(out, "\\%03o", c);
		else
			err = buf_append_format(out, "\\%c", sum_escape(c));
	}
	return err;
}

/* ---- messages ---- */

static void complain_args(const char *path, const char *format, va_list args)
{
	int saved = errno; /* for %m */

	(void)fflush(stdout);
	fputs("kin: ", stderr);
	if (path) {
		fprint_escaped(stderr, path, ESCAPE_TERMINAL);
		fputs(": ", stderr);
	}
	errno = saved;
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
}

void cli_complain(const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain_args(path, format, args);
	va_end(args);
}

static const char *advice(int err)
{
	switch (-err) {
	case ENOTCONN:
		return "; the daemon is gone: fusermount3 -u the mount point "
		       "and mount it again";
	case ENODEV:
		return "; mount one with: kinfs SOURCE MOUNTPOINT";
	default:
		return "";
	}
}

static const char *meaning(int err)
{
	switch (-err) {
	case ENODEV:
		return "not in a kinfs mount";
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

void cli_complain_errno(const char *path, int err)
{
	cli_complain(path, "%s%s", meaning(err), advice(err));
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

int cli_parse_threshold(const struct command *command, const char *text,
			int *out)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < 1 || value > 100)
		return cli_usage_error(
			command,
			"--threshold: '%s' is not a number from 1 "
			"to 100",
			text);
	*out = (int)value;
	return EXIT_OK;
}

/* ---- JSON ---- */

/* Bytes of the UTF-8 character at p, 0 when there is none.  jansson knows the
 * rules: what it accepts as a string is UTF-8. */
static size_t character_length(const char *p)
{
	size_t len, most = strnlen(p, 4);
	json_t *value;

	for (len = 1; len <= most; len++) {
		value = json_stringn(p, len);
		if (value) {
			json_decref(value);
			return len;
		}
	}
	return 0;
}

static int append_as_utf8(struct buf *out, const char *text)
{
	size_t len;
	int err = 0;

	while (*text && !err) {
		len = character_length(text);
		if (len)
			err = buf_append(out, text, len);
		else
			err = buf_append_text(out, "\xef\xbf\xbd");
		text += len ? len : 1;
	}
	return err;
}

static int set_hex(json_t *object, const char *key, const char *text)
{
	struct buf name = { 0 };
	size_t len = strlen(text);
	char *hex = malloc(2 * len + 1);
	int err = -ENOMEM;

	if (hex && !buf_append_format(&name, "%s_hex", key)) {
		hex_encode((const uint8_t *)text, len, hex);
		err = json_object_set_new(object, name.data, json_string(hex)) ?
			      -ENOMEM :
			      0;
	}
	buf_release(&name);
	free(hex);
	return err;
}

int cli_set_json_path(json_t *object, const char *key, const char *text)
{
	json_t *value = json_string(text);
	struct buf clean = { 0 };
	int err = 0;

	if (!value) {
		err = append_as_utf8(&clean, text);
		if (!err)
			err = set_hex(object, key, text);
		if (!err)
			value = json_string(clean.data);
		buf_release(&clean);
	}
	if (err)
		return err;
	return json_object_set_new(object, key, value) ? -ENOMEM : 0;
}

int cli_append_absolute_path(struct buf *out, const char *path)
{
	const char *name = strrchr(path, '/');
	char *directory = NULL, *resolved = NULL;
	int err = 0;

	directory =
		name ? strndup(path, (size_t)(name - path) + 1) : strdup(".");
	if (!directory)
		return -ENOMEM;
	resolved = realpath(directory, NULL);
	if (!resolved)
		err = -errno;
	else if (strcmp(resolved, "/") != 0)
		err = buf_append_text(out, resolved);
	if (!err)
		err = buf_append_text(out, "/");
	if (!err)
		err = buf_append_text(out, name ? name + 1 : path);
	free(resolved);
	free(directory);
	return err;
}

int cli_print_json(json_t *value)
{
	int failed = !value || json_dumpf(value, stdout, 0);

	json_decref(value);
	putchar('\n');
	if (failed)
		cli_complain(NULL, "cannot write JSON: %m");
	return failed ? EXIT_FAILED : EXIT_OK;
}
