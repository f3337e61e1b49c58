/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/catalog/catalog.h"
#include "core/cli/cli.h"
#include "core/cli/table.h"
#include "core/source/source.h"

/*
 * kin check: what a catalog has, and whether the digests in it are right.
 *
 * The counts are those of the daemon, or of a catalog that is not mounted.  With
 * --read, each file is digested here and compared with what a user is told of
 * it: the attributes of the mount, or the records of the catalog.
 */

enum { BUSY_WAIT_MS = 10000, BUSY_LOOK_MS = 20 };

struct check {
	const char *operand; /* SOURCE or MOUNT; NULL with db */
	const char *db;
	bool read;

	char *root;              /* what is read: the mount, or SOURCE */
	char *directory;         /* of the catalog */
	int64_t written;         /* when it last was, before; 0: not known */
	struct catalog *catalog; /* NULL: the daemon has it */
	dev_t device;            /* of SOURCE, with catalog */
	char *listings;          /* of the mount; never read */

	struct catalog_counts counts;
	struct reader reader;
	uint64_t read_again, read_bytes;
	uint64_t unread;    /* files and directories that cannot be read */
	uint64_t unknown;   /* files without a digest of their present state */
	struct table table; /* of the findings */
	bool damaged;       /* the catalog as a whole */
};

/* ---- findings ---- */

static const struct column columns[] = {
	{ "kind", "KIND", COLUMN_WORD, COLUMN_SHOWN },
	{ "reason", "REASON", COLUMN_WORD, COLUMN_SHOWN },
	{ "path", "PATH", COLUMN_PATH, COLUMN_SHOWN },
	{ 0 },
};

static int add_finding(struct check *c, const char *kind, const char *path,
		       const char *text)
{
	const struct cell cells[] = { cell_word(kind), cell_word(text),
				      cell_path(path, NULL) };

	return table_row(&c->table, cells) ? -EIO : 0;
}

static void add_damage(struct check *c)
{
	c->damaged = true;
	(void)add_finding(c, "catalog", c->directory,
			  "damaged, or of another version of kinfs");
}

/* ---- one file ---- */

/* -ENODATA: the digests of the file's present state are not known. */
static int told_by_mount(const struct check *c, int fd, struct digests *out)
{
	const uint32_t set = c->reader.digest_set;
	char path[48], state[32];
	ssize_t n = fgetxattr(fd, STATE_ATTRIBUTE, state, sizeof(state));
	struct buf text = { 0 };
	int id, err = 0;

	/* A digest that is still to be made would be waited for. */
	if (n != 5 || memcmp(state, "fresh", 5) != 0)
		return -ENODATA;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (id = 0; id < DIGEST_COUNT && !err; id++) {
		if (!(set & DIGEST_BIT(id)))
			continue;
		err = mount_get_attribute(path, digest_table[id]->attribute,
					  &text);
		if (!err)
			err = digest_parse(id, text.data, text.len, out);
		else if (err == -ENODATA)
			err = 0;
	}
	buf_release(&text);
	return err;
}

static int told_by_catalog(const struct check *c, int fd, const struct stat *st,
			   struct digests *out)
{
	struct file_identity identity;
	struct catalog_txn *txn;
	struct file_record r;
	struct file_key key;
	int err = catalog_read(c->catalog, &txn);

	if (err)
		return err;
	source_make_key(c->device, fd, "", st, &key);
	source_get_identity(st, &identity);
	err = catalog_file_get(txn, &key, &r);
	if (!err && (r.state != FILE_FRESH ||
		     !file_identity_equal(&r.identity, &identity)))
		err = -ENODATA;
	if (!err)
		err = catalog_content_get(txn, r.content, out);
	catalog_abort(txn);
	return err == -ENOENT ? -ENODATA : err;
}

static int compare(struct check *c, const char *path,
		   const struct digests *told, const struct digests *made)
{
	struct buf text = { 0 };
	uint32_t differing = 0;
	struct digest_value a, b;
	int id, err;

	for (id = 0; id < DIGEST_COUNT; id++) {
		a = digest_value_of(told, id);
		b = digest_value_of(made, id);
		if (a.bytes && b.bytes &&
		    (a.len != b.len || memcmp(a.bytes, b.bytes, a.len) != 0))
			differing |= DIGEST_BIT(id);
	}
	if (!differing)
		return 0;
	err = buf_append_text(&text,
			      differing & DIGEST_BIT(DIGEST_XXH128) ?
				      "not the content that was hashed, at "
				      "the same size and times; differing:" :
				      "digests are not those of its content; "
				      "differing:");
	for (id = 0; id < DIGEST_COUNT && !err; id++)
		if (differing & DIGEST_BIT(id))
			err = buf_append_format(&text, " %s",
						digest_table[id]->name);
	if (!err)
		err = add_finding(c, "digest", path, text.data);
	buf_release(&text);
	return err;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	struct file_identity before, after;

	source_get_identity(a, &before);
	source_get_identity(b, &after);
	return file_identity_equal(&before, &after);
}

/* The kernel may know older attributes of a file in the mount. */
static int look(int fd, struct stat *out)
{
	struct statx fresh;

	(void)statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC,
		    STATX_BASIC_STATS, &fresh);
	return fstat(fd, out) ? -errno : 0;
}

/* The digests that the mount told before the reading are of the bytes that were
 * read if the identity is equal before and after. */
static int check_open_file(struct check *c, int fd, const char *path)
{
	struct digests told = { 0 }, made = { 0 };
	struct stat before, after;
	int err = look(fd, &before);

	if (!err)
		err = c->catalog ? told_by_catalog(c, fd, &before, &told) :
				   told_by_mount(c, fd, &told);
	/* A mount may have pages from before a change that nobody saw. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (!err)
		err = reader_digest_fd(&c->reader, fd, cli_base_name(path),
				       &made);
	if (!err)
		err = look(fd, &after);
	if (!err && !is_same(&before, &after))
		err = -ENODATA;
	if (!err) {
		c->read_again++;
		c->read_bytes += made.size;
		err = compare(c, path, &told, &made);
	}
	digests_release(&told);
	digests_release(&made);
	return err;
}

/* That a file cannot be read, or changes meanwhile, is no finding. */
static int check_file(struct check *c, const char *full, const char *path)
{
	int fd = -1, err = reader_open(full, false, &fd);

	if (!err) {
		err = check_open_file(c, fd, path);
		(void)close(fd);
	}
	if (err == -ENODATA || err == -ESTALE || err == -ENOENT)
		c->unknown++;
	else if (err && err != -ENOMEM && err != -EUCLEAN)
		c->unread++;
	return err == -ENOMEM || err == -EUCLEAN ? err : 0;
}

static int check_entry(void *arg, FTS *fts, FTSENT *e)
{
	struct check *c = arg;

	if (e->fts_info == FTS_F)
		return check_file(c, e->fts_path,
				  e->fts_path + strlen(c->root) + 1);
	if (e->fts_info == FTS_D && c->listings &&
	    !strcmp(e->fts_path, c->listings))
		(void)fts_set(fts, e, FTS_SKIP);
	if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR)
		c->unread += e->fts_errno != ENOENT;
	return 0;
}

static int read_all(struct check *c, uint32_t digest_set)
{
	int err, code = reader_init(&c->reader, digest_set & DIGEST_KEPT);

	if (code)
		return code;
	err = cli_walk(c->root, FTS_XDEV, NULL, check_entry, c);
	reader_release(&c->reader);
	if (err == -EUCLEAN)
		add_damage(c);
	else if (err)
		cli_complain_errno(c->root, err);
	return err && err != -EUCLEAN ? EXIT_FAILED : EXIT_OK;
}

/* ---- the answer ---- */

static void print_text(const struct check *c)
{
	const struct catalog_counts *n = &c->counts;
	time_t written = (time_t)c->written;
	char date[64];
	struct tm tm;

	fputs("Catalog ", stdout);
	cli_print_escaped(c->directory, ESCAPE_TERMINAL);
	if (written && localtime_r(&written, &tm) &&
	    strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &tm))
		printf(", written %s", date);
	putchar('\n');
	if (c->damaged) {
		puts("The next mount sets the catalog aside and hashes all "
		     "files again");
		return;
	}
	printf("%" PRIu64 " files: %" PRIu64 " fresh, %" PRIu64
	       " pending, %" PRIu64 " failed\n",
	       n->files, n->fresh, n->pending, n->failed);
	if (c->read)
		printf("%" PRIu64 " read again; %" PRIu64
		       " new or changed, %" PRIu64 " could not be read\n",
		       c->read_again, c->unknown, c->unread);
	if (!c->table.rows) {
		puts("In order");
		return;
	}
	printf("%zu findings; to have all files hashed again, unmount, "
	       "remove ",
	       c->table.rows);
	cli_print_escaped(c->directory, ESCAPE_TERMINAL);
	puts("/data.mdb and mount");
}

static int print_answer(const struct check *c)
{
	const struct catalog_counts *n = &c->counts;
	json_t *totals;
	int code = EXIT_OK;

	if (!c->table.output.json) {
		print_text(c);
		return c->table.rows ? EXIT_FAILED : EXIT_OK;
	}
	totals = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"findings", (json_int_t)c->table.rows, "files",
		(json_int_t)n->files, "directories", (json_int_t)n->directories,
		"fresh", (json_int_t)n->fresh, "pending",
		(json_int_t)n->pending, "failed", (json_int_t)n->failed, "read",
		(json_int_t)c->read_again, "read_bytes",
		(json_int_t)c->read_bytes, "unknown", (json_int_t)c->unknown,
		"unread", (json_int_t)c->unread);
	(void)json_set_path(totals, "catalog", c->directory);
	code = table_totals(totals, !c->unread && !c->unknown, NULL);
	return c->table.rows ? EXIT_FAILED : code;
}

/* ---- a mount ---- */

/* The status, once the catalog is open or cannot be. */
static int get_status(const char *root, json_t **out)
{
	const json_t *catalog;
	int err;

	while (!(err = mount_get_status(root, out))) {
		catalog = json_object_get(*out, "catalog");
		if (!json_is_false(json_object_get(catalog, "open")) ||
		    json_is_string(json_object_get(catalog, "error")))
			return 0;
		json_decref(*out);
		cli_pause_ms(BUSY_LOOK_MS);
	}
	return err;
}

static uint64_t number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static int check_mount(struct check *c, const struct mount *mount)
{
	json_t *status = NULL, *catalog, *name;
	const struct digest_ops *ops;
	const char *path;
	uint32_t set = 0;
	size_t i;
	int code = EXIT_OK, err = get_status(mount->root, &status);

	catalog = json_object_get(status, "catalog");
	path = json_string_value(json_object_get(catalog, "path"));
	if (!err && (!path || !json_object_get(status, "files")))
		err = -EPERM;
	if (!err)
		err = mount_find_listings(mount->root, &c->listings);
	if (!err && (!(c->directory = strdup(path)) ||
		     !(c->root = strdup(mount->root))))
		err = -ENOMEM;
	c->counts = (struct catalog_counts){
		.files = number(status, "files"),
		.directories = number(status, "directories"),
		.fresh = number(status, "fresh"),
		.pending = number(status, "pending"),
		.failed = number(status, "failed"),
	};
	json_array_foreach(json_object_get(status, "digests"), i, name)
	{
		ops = digest_find(json_string_value(name));
		set |= ops ? DIGEST_BIT(ops->id) : 0;
	}
	if (err)
		cli_complain_errno(mount->root, err);
	else if (json_is_string(json_object_get(catalog, "error")))
		add_damage(c);
	else if (c->read)
		code = read_all(c, set);
	json_decref(status);
	return err ? EXIT_FAILED : code ? code : print_answer(c);
}

/* ---- a catalog ---- */

static int find_directory(struct check *c)
{
	struct buf b = { 0 };
	int err;

	c->root = c->operand ? realpath(c->operand, NULL) : NULL;
	err = c->operand && !c->root ? -errno :
	      c->db                  ? buf_append_text(&b, c->db) :
				       catalog_default_directory(c->root, &b);
	if (err)
		buf_release(&b);
	c->directory = buf_take(&b);
	if (err == -ENOENT && c->root)
		return cli_complain(
			NULL, "neither XDG_STATE_HOME nor HOME is set; say "
			      "where the catalog is with --db DIR");
	return err ? cli_complain_errno(c->operand, err) : EXIT_OK;
}

static int complain_open(const struct check *c, int err)
{
	struct buf holder = { 0 };
	pid_t pid;

	if (err == -EBUSY)
		(void)catalog_holder(c->directory, &pid, &holder);
	if (err == -EBUSY)
		cli_complain(c->directory,
			     "in use by a kinfs%s%s; give its mount point: kin "
			     "check MOUNT",
			     holder.len ? " " : "",
			     holder.len ? holder.data : "");
	else if (err == -ENOENT)
		cli_complain(c->directory,
			     "no catalog there; --db DIR says where it is");
	else
		cli_complain_errno(c->directory, err);
	buf_release(&holder);
	return EXIT_FAILED;
}

/* A mount with db= keeps its own catalog; the one at the usual place is of an
 * earlier time then. */
static int refuse_other_catalog(const struct check *c)
{
	struct buf point = { 0 };
	int err = c->db ? -ENOENT : mount_of_source(c->root, &point);

	if (!err)
		cli_complain(
			c->root,
			"mounted at %s with another catalog than %s; check "
			"that of the mount with kin check %s, or the other "
			"one with --db %s",
			point.data, c->directory, point.data, c->directory);
	buf_release(&point);
	return err ? EXIT_OK : EXIT_FAILED;
}

/* The counts, and where the tree is by the catalog.  -EXDEV: the directory
 * there is another one, as when the disk of the tree is not mounted. */
static int look_into_catalog(struct check *c, struct buf *source,
			     uint32_t *set_out)
{
	struct catalog_txn *txn;
	struct file_record r;
	struct file_key root;
	struct stat st;
	int fd, err = catalog_read(c->catalog, &txn);

	if (err)
		return err;
	*set_out = catalog_digest_set(txn);
	err = catalog_counts(txn, &c->counts);
	if (!err)
		err = catalog_source(txn, source);
	fd = err ? -1 : open(source->data, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!err && c->read && (fd < 0 || fstat(fd, &st)))
		err = -errno;
	if (!err && c->read) {
		c->device = st.st_dev;
		source_make_key(st.st_dev, fd, "", &st, &root);
		if (c->counts.files + c->counts.directories)
			err = catalog_file_get(txn, &root, &r);
		err = err == -ENOENT ? -EXDEV : err;
	}
	if (fd >= 0)
		(void)close(fd);
	catalog_abort(txn);
	return err;
}

static int check_opened(struct check *c)
{
	struct buf source = { 0 };
	uint32_t set = 0;
	int code = EXIT_FAILED, err = look_into_catalog(c, &source, &set);

	if (source.len && c->root && strcmp(c->root, source.data) != 0) {
		cli_complain(c->directory, "this catalog is of %s, not of %s",
			     source.data, c->root);
	} else if (err == -EXDEV) {
		cli_complain(source.data,
			     "not the directory that the catalog describes; is "
			     "its disk mounted?");
	} else if (err == -EUCLEAN) {
		add_damage(c);
		code = EXIT_OK;
	} else if (err) {
		cli_complain_errno(source.len ? source.data : c->directory,
				   err);
	} else {
		if (!c->root)
			c->root = buf_take(&source);
		code = c->read ? read_all(c, set) : EXIT_OK;
	}
	buf_release(&source);
	return code;
}

static int check_catalog(struct check *c)
{
	struct catalog_options options = { .existing = true };
	int looks = BUSY_WAIT_MS / BUSY_LOOK_MS, err, code = find_directory(c);

	if (code)
		return code;
	(void)catalog_last_written(c->directory, &c->written);
	options.directory = c->directory;
	/* A kinfs that was unmounted a moment ago still writes what it has. */
	while ((err = catalog_open(&options, &c->catalog)) == -EBUSY && looks--)
		cli_pause_ms(BUSY_LOOK_MS);
	code = err == -EBUSY ? EXIT_OK : refuse_other_catalog(c);
	if (!code && err == -EUCLEAN)
		add_damage(c);
	else if (!code)
		code = err ? complain_open(c, err) : check_opened(c);
	catalog_free(c->catalog);
	return code ? code : print_answer(c);
}

/* ---- the command ---- */

/* A path in a mount is for the daemon to answer, another one is a source. */
static int run_check(int argc, char **argv)
{
	struct check c = { .table.columns = columns };
	struct mount mount = { 0 };
	int code = options_parse(&command_check, &c, argc, argv);

	if (!code && optind == argc && !c.db)
		code = cli_usage_error(&command_check, "%s",
				       command_check.lacking);
	c.operand = argv[optind];
	if (!code && c.operand && mount_find(c.operand, &mount) == 0) {
		code = c.db ? cli_usage_error(
				      &command_check,
				      "--db is for a SOURCE, not a MOUNT") :
			      check_mount(&c, &mount);
		mount_release(&mount);
	} else if (!code) {
		code = check_catalog(&c);
	}
	free(c.root);
	free(c.directory);
	free(c.listings);
	return code;
}

static const struct option_row options[] = {
	{ "db", 0, "DIR", "where the catalog is; SOURCE may be left out then",
	  OPTION_TEXT(struct check, db) },
	{ "read", 0, NULL, "read every file and compare its digests",
	  OPTION_FLAG(struct check, read) },
	{ "json", 0, NULL,
	  "the findings, an object a line, the last one with totals",
	  OPTION_FLAG(struct check, table.output.json) },
	{ 0 },
};

const struct command command_check = {
	.name = "check",
	.operands = { 0, 1 },
	.lacking = "which mount or source?",
	.synopsis = "check [--read] [--json] {MOUNT | [--db DIR] [SOURCE]}",
	.summary = "Count what a catalog has, and verify its digests",
	.help = "Shows how many files the catalog of a MOUNT has, or of a "
		"SOURCE that is not\n"
		"mounted, and tells when the catalog is damaged.  Nothing is "
		"changed.  A catalog\n"
		"is a cache: remove its data.mdb, and the next mount hashes "
		"all files again.\n",
	.options = options,
	.notes = "Exit status: 0 in order; 1 there are findings; 2 usage.\n",
	.run = run_check,
};
