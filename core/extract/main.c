/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/hex.h"
#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/extract/client.h"
#include "core/extract/reader.h"
#include "core/extract/sketch.h"

/* kin-extract: the keyboard's side, and with --serve the one that is
 * confined. */

enum { EXIT_USAGE = 2 };

static const char help_text[] =
	"usage: kin-extract [--json] FILE...\n"
	"\n"
	"Prints the text inside documents (PDF, Word, Excel, PowerPoint, OpenDocument,\n"
	"EPUB, RTF, mail, HTML, texts in any encoding), mailboxes and archives (zip, tar,\n"
	"7z; gzip, xz, zstd, bzip2), as kinfs compares it.  Files are read by a process\n"
	"that can neither open files nor reach a network.  Of pictures (JPEG, PNG, WebP,\n"
	"GIF) --json prints a hash.\n"
	"\n"
	"      --json     one object a file: what it is, its date, its members\n"
	"  -h, --help     this help\n"
	"  -V, --version  the version\n"
	"\n"
	"Exit status: 0 each file has text; 1 one of them has none; 2 usage.\n";

static void complain(const char *path, const char *what)
{
	fputs("kin-extract: ", stderr);
	utf8_print_safe(stderr, path);
	fprintf(stderr, ": %s\n", what);
}

/* ---- one file ---- */

static const char *const reasons[EXTRACT_STATUS_COUNT] = {
	[EXTRACT_NO_TEXT] = "there is no text in it",
	[EXTRACT_ENCRYPTED] = "it is encrypted",
	[EXTRACT_DAMAGED] = "it is damaged",
	[EXTRACT_LIMIT] = "too much of something: it, its text, what it "
			  "decompresses to, its members or the time it takes",
	[EXTRACT_UNSUPPORTED] = "it is no text, document or archive",
};

static void add_picture(json_t *object, const struct picture_hashes *p)
{
	char pdq[2 * PDQ_BYTES + 1];

	(void)json_object_set_new(object, "width",
				  json_integer((json_int_t)p->width));
	(void)json_object_set_new(object, "height",
				  json_integer((json_int_t)p->height));
	if (!(p->has & PICTURE_EXCHANGE))
		return;
	hex_encode(p->exchange.bytes, PDQ_BYTES, pdq);
	(void)json_object_set_new(object, "pdq", json_string(pdq));
}

static json_t *json_of(const struct extract_result *r)
{
	unsigned i;
	json_t *object = json_pack("{s:s,s:s,s:I}", "status",
				   extract_status_name(r->status), "type",
				   extract_kind_name(r->kind), "size",
				   (json_int_t)r->size);

	if (r->date != EXTRACT_NO_DATE)
		(void)json_object_set_new(object, "date",
					  json_integer(r->date));
	if (r->unread)
		(void)json_object_set_new(object, "unread",
					  json_integer((json_int_t)r->unread));
	if (r->picture.width)
		add_picture(object, &r->picture);
	for (i = 0; i < EXTRACT_FLAGS; i++)
		if (r->flags & (1U << i))
			(void)json_object_set_new(object, extract_flag_name(i),
						  json_true());
	return object;
}

/* The members that have not ended: names and what is in them. */
struct open_member {
	char *name;
	json_t *members;
};

struct printer {
	bool json;
	struct open_member stack[EXTRACT_DEPTH_MAX + 1];
	unsigned depth;
};

static void begin_member(struct printer *p, const struct extract_piece *piece)
{
	struct open_member *m = &p->stack[++p->depth];

	m->name = strndup((const char *)piece->data, piece->len);
	m->members = json_array();
}

/* The object of what ends: the file, or a member. */
static json_t *end_object(struct printer *p, const struct extract_piece *piece,
			  const char *name)
{
	struct open_member *m = &p->stack[p->depth];
	json_t *object = json_of(&piece->result);

	(void)json_set_path(object, "name", name);
	if (json_array_size(m->members))
		(void)json_object_set(object, "members", m->members);
	json_decref(m->members);
	free(m->name);
	*m = (struct open_member){ 0 };
	return object;
}

static void print_piece(struct printer *p, const struct extract_piece *piece)
{
	json_t *object;
	char *name;

	switch (piece->type) {
	case EXTRACT_PIECE_MEMBER:
		begin_member(p, piece);
		break;
	case EXTRACT_PIECE_MEMBER_END:
		name = p->stack[p->depth].name;
		p->stack[p->depth].name = NULL;
		object = end_object(p, piece, name ? name : "");
		free(name);
		p->depth--;
		(void)json_array_append_new(p->stack[p->depth].members, object);
		break;
	default:
		if (!p->json)
			(void)fwrite(piece->data, 1, piece->len, stdout);
	}
}

/* The process may have died inside of members. */
static void end_members(struct printer *p)
{
	for (; p->depth; p->depth--) {
		free(p->stack[p->depth].name);
		json_decref(p->stack[p->depth].members);
	}
}

/* A picture that was read has a hash, if anything. */
static bool has_text(const struct extract_result *r)
{
	return !r->status && !r->picture.width;
}

static void print_end(struct printer *p, const struct extract_piece *piece,
		      const char *path)
{
	json_t *object = end_object(p, piece, path);

	if (p->json)
		(void)json_write_line(stdout, json_incref(object));
	json_decref(object);
	if (!p->json && !has_text(&piece->result))
		complain(path,
			 reasons[piece->result.status ? piece->result.status :
							EXTRACT_NO_TEXT]);
}

/* Says what is wrong in a line for each file, too. */
static bool fail(const char *path, bool json, const char *what)
{
	json_t *object =
		json_pack("{s:s,s:s}", "status", "error", "error", what);

	complain(path, what);
	if (json && object && !json_set_path(object, "name", path))
		(void)json_write_line(stdout, json_incref(object));
	json_decref(object);
	return false;
}

/* Prints all pieces; the last one is the end, of which a sketch for JSON tells
 * more. */
static int print_pieces(struct printer *p, struct extract_client *client,
			const char *path)
{
	struct extract_sketch *sketch = p->json ? extract_sketch_new() : NULL;
	struct extract_piece piece = { 0 };
	int err = p->json && !sketch ? -ENOMEM : 0;

	if (sketch)
		extract_sketch_begin(sketch);
	while (!err && piece.type != EXTRACT_PIECE_END) {
		err = extract_next(client, &piece);
		if (!err && sketch)
			extract_sketch_add(sketch, &piece);
		if (!err && piece.type != EXTRACT_PIECE_END)
			print_piece(p, &piece);
	}
	if (!err && sketch)
		(void)extract_sketch_end(sketch, &piece.result);
	end_members(p);
	if (!err)
		print_end(p, &piece, path);
	extract_sketch_free(sketch);
	if (err)
		return err;
	return piece.result.status || (!p->json && !has_text(&piece.result)) ?
		       -ENODATA :
		       0;
}

/* Whether it has text. */
static bool extract_file(struct extract_client *client, const char *path,
			 bool json)
{
	struct printer p = { .json = json };
	int err, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	err = fd < 0 || fstat(fd, &st) ? -errno : 0;
	if (!err && !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return fail(path, json, "no regular file");
	}
	if (!err)
		err = extract_begin(client, fd, geteuid(),
				    &extract_limits_default);
	p.stack[0].members = json_array();
	if (!err)
		err = print_pieces(&p, client, path);
	json_decref(p.stack[0].members);
	if (fd >= 0)
		(void)close(fd);
	if (err && err != -ENODATA)
		return fail(path, json,
			    err == -EIO ? "no process to read it could be "
					  "started" :
					  err_text(err));
	return !err;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	struct extract_client *client = NULL;
	bool json = false, all = true;
	int c, err;

	if (argc == 2 && !strcmp(argv[1], "--serve"))
		return serve_requests();
	while ((c = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
		if (c == 'h')
			return fputs(help_text, stdout) < 0;
		if (c == 'V')
			return puts("kin-extract " KINFS_VERSION) < 0;
		if (c != 'j')
			return EXIT_USAGE;
		json = true;
	}
	if (optind == argc) {
		fputs("kin-extract: which file? kin-extract --help tells more\n",
		      stderr);
		return EXIT_USAGE;
	}
	err = extract_open(NULL, &client);
	if (err) {
		complain(argv[0], err_text(err));
		return 1;
	}
	for (; optind < argc; optind++)
		all &= extract_file(client, argv[optind], json);
	extract_free(client);
	if (fflush(stdout) || ferror(stdout)) {
		complain("standard output", err_text(errno));
		all = false;
	}
	return !all;
}
