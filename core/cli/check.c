/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/catalog/catalog.h"
#include "core/cli/cli.h"
#include "core/engine/audit.h"

/* What is asked for, and what came of it. */
struct check {
	const char *operand; /* SOURCE or MOUNT; NULL with db */
	const char *db;
	bool read, repair, as_json;

	char *source;
	char *directory; /* of the catalog */
	struct audit_counts counts;
	bool damaged;        /* the catalog as a whole */
	struct buf moved_to; /* it was set aside */
	json_t *findings;
	int err; /* of building findings */
};

static const char *const kind_names[AUDIT_KINDS] = {
	[AUDIT_RECORD] = "record",
	[AUDIT_ORPHAN] = "orphan",
	[AUDIT_DIGEST] = "digest",
};

static const char damage_text[] = "damaged, or of another version of kinfs";

/* ---- findings ---- */

static void note_finding(struct check *c, const char *kind, const char *path,
			 const char *text)
{
	json_t *f = json_pack("{s:s}", "kind", kind);

	if (!f || (path && json_set_path(f, "path", path)) ||
	    json_set_path(f, "text", text))
		c->err = -ENOMEM;
	if (json_array_append_new(c->findings, f))
		c->err = -ENOMEM;
}

static void tell(struct check *c, const char *kind, const char *path,
		 const char *text)
{
	if (c->as_json) {
		note_finding(c, kind, path, text);
		return;
	}
	printf("%s: ", kind);
	if (path) {
		print_escaped(path, ESCAPE_TERMINAL);
		fputs(": ", stdout);
	}
	print_escaped(text, ESCAPE_TERMINAL);
	putchar('\n');
}

static void found(void *arg, const struct audit_finding *f)
{
	tell(arg, kind_names[f->kind], f->path, f->text);
}

/* ---- the answer ---- */

static uint64_t all_found(const struct check *c)
{
	return audit_findings(&c->counts) + c->damaged;
}

static uint64_t all_mended(const struct check *c)
{
	return c->moved_to.len ? all_found(c) : c->counts.mended;
}

static void print_untold(const struct check *c)
{
	int kind;

	for (kind = 0; kind < AUDIT_KINDS; kind++)
		if (c->counts.found[kind] > AUDIT_TOLD)
			printf("%s: and %" PRIu64 " more\n", kind_names[kind],
			       c->counts.found[kind] - AUDIT_TOLD);
}

/* What a scan finds by itself. */
static void print_news(const struct audit_counts *n)
{
	if (!n->unknown && !n->stale && !n->gone)
		return;
	printf("Not known yet: %" PRIu64 " files not in the catalog, %" PRIu64
	       " changed, %" PRIu64 " names gone; a mount finds them\n",
	       n->unknown, n->stale, n->gone);
}

static void print_sum(const struct check *c)
{
	const struct audit_counts *n = &c->counts;

	printf("%" PRIu64 " files: %" PRIu64 " fresh, %" PRIu64
	       " pending, %" PRIu64 " failed",
	       n->files, n->fresh, n->pending, n->failed);
	if (c->read)
		printf("; %" PRIu64 " read again", n->read);
	if (n->unread)
		printf("; %" PRIu64 " could not be read", n->unread);
	putchar('\n');
}

static void print_text(const struct check *c)
{
	uint64_t findings = all_found(c), mended = all_mended(c);

	print_untold(c);
	if (!c->damaged) {
		print_sum(c);
		print_news(&c->counts);
	}
	if (c->moved_to.len)
		printf("The catalog was moved to %s; the next mount builds a "
		       "new one\n",
		       c->moved_to.data);
	if (!findings)
		puts("In order");
	else if (mended == findings)
		printf("%" PRIu64 " findings, all mended\n", findings);
	else
		printf("%" PRIu64 " findings, %" PRIu64 " mended%s\n", findings,
		       mended, c->repair ? "" : "; --repair mends them");
}

static json_t *counts_json(const struct check *c)
{
	const struct audit_counts *n = &c->counts;

	return json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"directories", (json_int_t)n->directories, "files",
		(json_int_t)n->files, "fresh", (json_int_t)n->fresh, "pending",
		(json_int_t)n->pending, "failed", (json_int_t)n->failed,
		"changed", (json_int_t)n->stale, "unknown",
		(json_int_t)n->unknown, "gone", (json_int_t)n->gone, "unread",
		(json_int_t)n->unread, "read", (json_int_t)n->read,
		"read_bytes", (json_int_t)n->read_bytes);
}

static int print_json(struct check *c)
{
	const struct audit_counts *n = &c->counts;
	json_t *o = json_pack(
		"{s:O, s:I, s:I, s:{s:I, s:I, s:I, s:I}, s:o}", "findings",
		c->findings, "found", (json_int_t)all_found(c), "mended",
		(json_int_t)all_mended(c), "by_kind", "catalog",
		(json_int_t)c->damaged, "record",
		(json_int_t)n->found[AUDIT_RECORD], "orphan",
		(json_int_t)n->found[AUDIT_ORPHAN], "digest",
		(json_int_t)n->found[AUDIT_DIGEST], "counts", counts_json(c));

	if (!o || c->err ||
	    (c->source && json_set_path(o, "source", c->source)) ||
	    json_set_path(o, "catalog", c->directory) ||
	    (c->moved_to.len &&
	     json_set_path(o, "moved_to", c->moved_to.data))) {
		json_decref(o);
		complain_errno(NULL, -ENOMEM);
		return EXIT_FAILED;
	}
	return json_print(o);
}

static int answer(struct check *c)
{
	int code = EXIT_OK;

	if (c->as_json)
		code = print_json(c);
	else
		print_text(c);
	return all_mended(c) < all_found(c) ? EXIT_FAILED : code;
}

/* ---- the catalog ---- */

/* Where it is, and whether it is that of the operand. */
static int find_source(struct check *c)
{
	int err = -ENOMEM;

	if (!c->operand)
		return EXIT_OK;
	c->source = realpath(c->operand, NULL);
	if (c->source)
		return EXIT_OK;
	err = -errno;
	complain_errno(c->operand, err);
	return EXIT_FAILED;
}

static int find_directory(struct check *c)
{
	struct buf b = { 0 };
	int err = c->db ? buf_append_text(&b, c->db) :
			  catalog_home(c->source, &b);

	if (!err) {
		c->directory = buf_take(&b);
		return EXIT_OK;
	}
	buf_release(&b);
	if (err == -ENOENT)
		complain(NULL, "neither XDG_STATE_HOME nor HOME is set; say "
			       "where the catalog is with --db DIR");
	else
		complain_errno(c->operand, err);
	return EXIT_FAILED;
}

/* The tree is where the catalog says. */
static int adopt_source(struct check *c, struct catalog *catalog)
{
	struct buf source = { 0 };
	struct catalog_txn *txn;
	int code = EXIT_OK, err = catalog_read(catalog, &txn);

	if (!err) {
		err = catalog_source(txn, &source);
		catalog_abort(txn);
	}
	if (err) {
		complain_errno(c->directory, err);
		code = EXIT_FAILED;
	} else if (!c->source) {
		c->source = buf_take(&source);
	} else if (strcmp(c->source, source.data) != 0) {
		complain(c->directory, "this catalog is of %s, not of %s",
			 source.data, c->source);
		code = EXIT_FAILED;
	}
	buf_release(&source);
	return code;
}

static int set_aside(struct check *c)
{
	int err;

	c->damaged = true;
	tell(c, "catalog", c->directory, damage_text);
	if (!c->repair)
		return EXIT_OK;
	err = catalog_set_aside(c->directory, &c->moved_to);
	if (!err)
		return EXIT_OK;
	complain_errno(c->directory, err);
	return EXIT_FAILED;
}

static int complain_open(const struct check *c, int err)
{
	if (err == -EBUSY)
		complain(c->directory, "in use by a mounted kinfs; give its "
				       "mount point: kin check MOUNT");
	else if (err == -ENOENT)
		complain(c->directory,
			 "no catalog there; --db DIR says where it is");
	else
		complain_errno(c->directory, err);
	return EXIT_FAILED;
}

/* ---- checking ---- */

static int audit(struct check *c, struct catalog *catalog, int *err_out)
{
	struct audit_mender mender;
	struct audit_options options = {
		.catalog = catalog,
		.read = c->read,
		.mender = c->repair ? &mender : NULL,
		.found = found,
		.arg = c,
	};
	int err;

	options.source_fd = open(c->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (options.source_fd < 0) {
		complain_errno(c->source, -errno);
		return EXIT_FAILED;
	}
	audit_mender_init(catalog, &mender);
	err = audit_run(&options, &c->counts);
	close(options.source_fd);
	*err_out = err;
	if (!err || err == -EUCLEAN)
		return EXIT_OK;
	if (err == -EXDEV)
		complain(c->source, "not the directory that the catalog "
				    "describes; is its disk mounted?");
	else
		complain_errno(c->source, err);
	return EXIT_FAILED;
}

static int check_catalog(struct check *c)
{
	struct catalog_options options = { .directory = c->directory,
					   .existing = true };
	struct catalog *catalog = NULL;
	int err = catalog_open(&options, &catalog);
	int code = EXIT_OK;

	if (err && err != -EUCLEAN)
		return complain_open(c, err);
	if (!err) {
		code = adopt_source(c, catalog);
		if (!code)
			code = audit(c, catalog, &err);
		catalog_free(catalog);
	}
	if (!code && err == -EUCLEAN)
		code = set_aside(c);
	return code ? code : answer(c);
}

static int check_source(struct check *c)
{
	int code = find_source(c);

	if (!code)
		code = find_directory(c);
	if (!code)
		code = check_catalog(c);
	return code;
}

/* ---- the command ---- */

static int parse(struct check *c, int argc, char **argv)
{
	static const struct option options[] = {
		{ "db", required_argument, NULL, 'd' },
		{ "read", no_argument, NULL, 'r' },
		{ "repair", no_argument, NULL, 'm' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == 'd')
			c->db = optarg;
		else if (o == 'r')
			c->read = true;
		else if (o == 'm')
			c->repair = true;
		else if (o == 'j')
			c->as_json = true;
		else
			return usage_error(&command_check, NULL);
	}
	if (argc - optind > 1 || (argc == optind && !c->db))
		return usage_error(&command_check, "which directory?");
	c->operand = argv[optind];
	return EXIT_OK;
}

static int run_check(int argc, char **argv)
{
	struct check c = { .findings = json_array() };
	int code = parse(&c, argc, argv);

	if (!code)
		code = check_source(&c);
	json_decref(c.findings);
	buf_release(&c.moved_to);
	free(c.source);
	free(c.directory);
	return code;
}

const struct command command_check = {
	.name = "check",
	.synopsis = "check [--read] [--repair] [--json] [--db DIR] [SOURCE]",
	.summary = "Verify the catalog of a directory that is not mounted",
	.help = "Compares the records of the catalog with each other and with "
		"SOURCE.  Files that\n"
		"are new, changed or gone are no fault: a mount finds "
		"them.\n\n"
		"      --db DIR  where the catalog is; SOURCE may be left out "
		"then\n"
		"      --read    read every file and compare its digests, too\n"
		"      --repair  correct or remove wrong records; files whose "
		"digests are wrong\n"
		"                are hashed by the next mount; a damaged catalog "
		"is set aside\n"
		"      --json    the findings and counts as JSON\n\n"
		"Exit status: 0 in order, or mended; 1 findings are left; 2 "
		"usage.\n",
	.run = run_check,
};
