/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/catalog/catalog.h"
#include "core/cli/check.h"
#include "core/check/check.h"

enum { BUSY_WAIT_MS = 10000, BUSY_LOOK_MS = 20 };

static const char damage_text[] = "damaged, or of another version of kinfs";

/* ---- findings ---- */

static void keep_finding(struct check_report *c, const char *kind,
			 const char *path, const char *text)
{
	json_t *f = json_pack("{s:s}", "kind", kind);

	if (!f || (path && cli_set_json_path(f, "path", path)) ||
	    cli_set_json_path(f, "text", text))
		c->err = -ENOMEM;
	if (json_array_append_new(c->findings, f))
		c->err = -ENOMEM;
}

void check_report_add(struct check_report *c, const char *kind,
		      const char *path, const char *text)
{
	c->told++;
	if (c->as_json) {
		keep_finding(c, kind, path, text);
		return;
	}
	printf("%s: ", kind);
	if (path) {
		cli_print_escaped(path, ESCAPE_TERMINAL);
		fputs(": ", stdout);
	}
	cli_print_escaped(text, ESCAPE_TERMINAL);
	putchar('\n');
}

static void found(void *arg, const struct check_finding *f)
{
	check_report_add(arg, check_kind_names[f->kind], f->path, f->text);
}

/* ---- the answer ---- */

static uint64_t all_found(const struct check_report *c)
{
	return check_count_findings(&c->counts) + c->damaged;
}

/* What a scan finds by itself. */
static void print_news(const struct check_counts *n)
{
	if (!n->unknown && !n->stale && !n->gone)
		return;
	printf("Not known yet: %" PRIu64 " files not in the catalog, %" PRIu64
	       " changed, %" PRIu64 " names gone; a scan finds them\n",
	       n->unknown, n->stale, n->gone);
}

static void print_sum(const struct check_report *c)
{
	const struct check_counts *n = &c->counts;

	printf("%" PRIu64 " files: %" PRIu64 " fresh, %" PRIu64
	       " pending, %" PRIu64 " failed",
	       n->files, n->fresh, n->pending, n->failed);
	if (c->read)
		printf("; %" PRIu64 " read again", n->read);
	if (n->unread)
		printf("; %" PRIu64 " could not be read", n->unread);
	putchar('\n');
}

/* A catalog that was not mounted for long says little of the tree now. */
static void print_catalog(const struct check_report *c)
{
	time_t written = (time_t)c->written;
	char date[64];
	struct tm tm;

	fputs("Catalog ", stdout);
	cli_print_escaped(c->directory, ESCAPE_TERMINAL);
	if (written && localtime_r(&written, &tm) &&
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm))
		printf(", written %s", date);
	putchar('\n');
}

/* A catalog is a cache: everything in it can be made again. */
static void print_remedy(const struct check_report *c, uint64_t findings)
{
	printf("%" PRIu64 " findings; ", findings);
	if (c->damaged) {
		puts("the next mount sets the catalog aside and hashes all "
		     "files again");
		return;
	}
	fputs("to have all files hashed again, unmount, remove ", stdout);
	cli_print_escaped(c->directory, ESCAPE_TERMINAL);
	puts("/data.mdb and mount");
}

static void print_text(const struct check_report *c)
{
	uint64_t findings = all_found(c);

	print_catalog(c);
	if (findings > c->told)
		printf("and %" PRIu64 " more\n", findings - c->told);
	if (!c->damaged) {
		print_sum(c);
		print_news(&c->counts);
	}
	if (!findings)
		puts("In order");
	else
		print_remedy(c, findings);
}

static json_t *all_json(struct check_report *c)
{
	json_t *o = check_counts_to_json(&c->counts);

	if (!o || c->err || json_object_set(o, "findings", c->findings) ||
	    cli_set_json_path(o, "catalog", c->directory) ||
	    (c->source && cli_set_json_path(o, "source", c->source))) {
		json_decref(o);
		return NULL;
	}
	json_object_set_new(o, "found", json_integer((json_int_t)all_found(c)));
	json_object_set_new(json_object_get(o, "by_kind"), "catalog",
			    json_integer(c->damaged));
	return o;
}

static int print_json(struct check_report *c)
{
	json_t *o = all_json(c);

	if (o)
		return cli_print_json(o);
	cli_complain_errno(NULL, -ENOMEM);
	return EXIT_FAILED;
}

int check_report_print(struct check_report *c)
{
	int code = EXIT_OK;

	if (c->as_json)
		code = print_json(c);
	else
		print_text(c);
	return all_found(c) ? EXIT_FAILED : code;
}

/* ---- the catalog ---- */

/* Where it is, and whether it is that of the operand. */
static int find_source(struct check_report *c)
{
	int err = -ENOMEM;

	if (!c->operand)
		return EXIT_OK;
	c->source = realpath(c->operand, NULL);
	if (c->source)
		return EXIT_OK;
	err = -errno;
	cli_complain_errno(c->operand, err);
	return EXIT_FAILED;
}

static int find_directory(struct check_report *c)
{
	struct buf b = { 0 };
	int err = c->db ? buf_append_text(&b, c->db) :
			  catalog_default_directory(c->source, &b);

	if (!err) {
		c->directory = buf_take(&b);
		return EXIT_OK;
	}
	buf_release(&b);
	if (err == -ENOENT)
		cli_complain(NULL,
			     "neither XDG_STATE_HOME nor HOME is set; say "
			     "where the catalog is with --db DIR");
	else
		cli_complain_errno(c->operand, err);
	return EXIT_FAILED;
}

/* The tree is where the catalog says. */
static int adopt_source(struct check_report *c, struct catalog *catalog)
{
	struct buf source = { 0 };
	struct catalog_txn *txn;
	int code = EXIT_OK, err = catalog_read(catalog, &txn);

	if (!err) {
		err = catalog_source(txn, &source);
		catalog_abort(txn);
	}
	if (err) {
		cli_complain_errno(c->directory, err);
		code = EXIT_FAILED;
	} else if (!c->source) {
		c->source = buf_take(&source);
	} else if (strcmp(c->source, source.data) != 0) {
		cli_complain(c->directory, "this catalog is of %s, not of %s",
			     source.data, c->source);
		code = EXIT_FAILED;
	}
	buf_release(&source);
	return code;
}

static void complain_busy(const struct check_report *c)
{
	struct buf holder = { 0 };
	pid_t pid;

	if (catalog_holder(c->directory, &pid, &holder))
		pid = 0;
	cli_complain(
		c->directory,
		"in use by a kinfs%s%s; give its mount point: kin check MOUNT",
		holder.len ? " " : "", holder.len ? holder.data : "");
	buf_release(&holder);
}

static int complain_open(const struct check_report *c, int err)
{
	if (err == -EBUSY)
		complain_busy(c);
	else if (err == -ENOENT)
		cli_complain(c->directory,
			     "no catalog there; --db DIR says where it is");
	else
		cli_complain_errno(c->directory, err);
	return EXIT_FAILED;
}

/* ---- checking ---- */

static int compare_all(struct check_report *c, struct catalog *catalog,
		       int *err_out)
{
	struct check_options options = {
		.catalog = catalog,
		.read = c->read,
		.found = found,
		.arg = c,
	};
	int err;

	options.source_fd = open(c->source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (options.source_fd < 0) {
		cli_complain_errno(c->source, -errno);
		return EXIT_FAILED;
	}
	err = check_run(&options, &c->counts);
	close(options.source_fd);
	*err_out = err;
	if (!err || err == -EUCLEAN)
		return EXIT_OK;
	if (err == -EXDEV)
		cli_complain(c->source, "not the directory that the catalog "
					"describes; is its disk mounted?");
	else
		cli_complain_errno(c->source, err);
	return EXIT_FAILED;
}

/* A kinfs that was unmounted a moment ago still writes what it has. */
static int open_when_free(const struct catalog_options *options,
			  struct catalog **out)
{
	const struct timespec pause = { .tv_nsec = BUSY_LOOK_MS * 1000000L };
	int looks = BUSY_WAIT_MS / BUSY_LOOK_MS;
	int err;

	while ((err = catalog_open(options, out)) == -EBUSY && looks--)
		(void)nanosleep(&pause, NULL);
	return err;
}

/* A mount with db= keeps its own catalog; the one at the usual place is of an
 * earlier time then. */
static int refuse_other_catalog(const struct check_report *c)
{
	struct buf point = { 0 };
	int err = c->db ? -ENOENT : mount_of_source(c->source, &point);

	if (!err)
		cli_complain(
			c->source,
			"mounted at %s with another catalog than %s; check "
			"that of the mount with kin check %s, or the other "
			"one with --db %s",
			point.data, c->directory, point.data, c->directory);
	buf_release(&point);
	return err ? EXIT_OK : EXIT_FAILED;
}

static int check_catalog(struct check_report *c)
{
	struct catalog_options options = { .directory = c->directory,
					   .existing = true };
	struct catalog *catalog = NULL;
	int err, code;

	(void)catalog_last_written(c->directory, &c->written);
	err = open_when_free(&options, &catalog);
	if (err == -EBUSY)
		return complain_open(c, err);
	code = refuse_other_catalog(c);
	if (!code && err && err != -EUCLEAN)
		code = complain_open(c, err);
	if (!code && !err)
		code = adopt_source(c, catalog);
	if (!err) {
		if (!code)
			code = compare_all(c, catalog, &err);
		catalog_free(catalog);
	}
	if (!code && err == -EUCLEAN) {
		c->damaged = true;
		check_report_add(c, "catalog", c->directory, damage_text);
	}
	return code ? code : check_report_print(c);
}

/* A path in a mount is for the daemon to answer, another one is a source. */
static int check_operand(struct check_report *c)
{
	struct mount mount = { 0 };
	int code;

	if (c->operand && mount_find(c->operand, &mount) == 0) {
		if (c->db)
			code = cli_usage_error(
				&command_check,
				"--db is for a SOURCE, not a MOUNT");
		else
			code = check_mount(c, &mount);
		mount_release(&mount);
		return code;
	}
	code = find_source(c);
	if (!code)
		code = find_directory(c);
	if (!code)
		code = check_catalog(c);
	return code;
}

/* ---- the command ---- */

static int parse(struct check_report *c, int argc, char **argv)
{
	static const struct option options[] = {
		{ "db", required_argument, NULL, 'd' },
		{ "read", no_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (o == 'd')
			c->db = optarg;
		else if (o == 'r')
			c->read = true;
		else if (o == 'j')
			c->as_json = true;
		else
			return cli_usage_error(&command_check, NULL);
	}
	if (argc - optind > 1 || (argc == optind && !c->db))
		return cli_usage_error(&command_check,
				       "which mount or source?");
	c->operand = argv[optind];
	return EXIT_OK;
}

static int run_check(int argc, char **argv)
{
	struct check_report c = { .findings = json_array() };
	int code = parse(&c, argc, argv);

	if (!code)
		code = check_operand(&c);
	json_decref(c.findings);
	free(c.source);
	free(c.directory);
	return code;
}

const struct command command_check = {
	.name = "check",
	.synopsis = "check [--read] [--json] {MOUNT | [--db DIR] [SOURCE]}",
	.summary = "Verify the catalog of a mount, or of a directory that was "
		   "mounted",
	.help = "Compares the records of the catalog with each other and with "
		"SOURCE, and changes\n"
		"nothing.  Files that are new, changed or gone are no fault: a "
		"scan finds them.\n"
		"The daemon of a MOUNT does it in the background, and compares "
		"its index, too.\n"
		"A catalog is a cache: remove its data.mdb, and the next mount "
		"hashes all files\n"
		"again.\n\n"
		"      --db DIR  where the catalog is; SOURCE may be left out "
		"then\n"
		"      --read    read every file and compare its digests, too\n"
		"      --json    the findings and counts as JSON\n\n"
		"Exit status: 0 in order; 1 there are findings; 2 usage.\n",
	.run = run_check,
};
