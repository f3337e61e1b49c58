/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <syslog.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/err.h"
#include "core/base/notify.h"
#include "core/base/utf8.h"
#include "core/share/ask.h"
#include "core/share/share.h"

#define STATUS_ATTRIBUTE "user.kinfs.status"
enum { STATUS_ROOM = 65536, CONNECT_MS = 10000, NAMES_MAX = 64 };
enum { LINE_BYTES = 2048 };

void share_complain(const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "%skin-share: ", notify_prefix(LOG_WARNING));
	utf8_print_safe(stderr, line);
	fputc('\n', stderr);
}

static int usage_error(const char *what)
{
	share_complain("%s; kin-share --help tells more", what);
	return SHARE_USAGE;
}

/* ---- options ---- */

enum { ALL_COMMANDS, PUBLISH, INIT, CHECK, FORGET, GC, ASK };

static const char *const command_names[] = {
	[INIT] = "init", [CHECK] = "check", [FORGET] = "forget",
	[GC] = "gc",     [ASK] = "ask",
};

struct arguments {
	struct share_options options;
	struct share_schema schema;
	const char *servers[NAMES_MAX], *posting_servers[NAMES_MAX],
		*readers[NAMES_MAX];
	const char *writers[NAMES_MAX], *globs[NAMES_MAX];
	char label[256];
	int command;
	char **operands;
	int operand_count;
};

static const char help_text[] =
	"usage: kin-share --db DB [OPTION]... MOUNT|CATALOG...\n"
	"       kin-share init --db DB [OPTION]...\n"
	"       kin-share check --db DB MOUNT|CATALOG...\n"
	"       kin-share forget --db DB HOST\n"
	"       kin-share gc --db DB\n"
	"\n"
	"Publishes what kinfs knows of trees to a database that many hosts share, and\n"
	"keeps it current.  init makes the tables, check compares them with a catalog,\n"
	"forget removes a host, gc removes contents that no host has.\n"
	"\n"
	"      --db DB         as libpq has it: 'service=kin', 'host=... dbname=...'\n"
	"      --once          publish what is to be published now, and end\n"
	"      --refill        publish everything again\n"
	"      --share WHAT    all (default), none, or a glob of paths; may be repeated\n"
	"      --no-paths      contents and their number, without names and times\n"
	"      --label NAME    of this host, for others; its host name\n"
	"      --wait SECONDS  how long a query may take (2)\n"
	"  -q, --quiet         no progress bar\n"
	"\n"
	"kin-share init --help has the options for several servers, and for roles.\n"
	"Exit status: 0 ok; 1 failed, or check found differences; 2 usage.\n";

static const char init_help_text[] =
	"usage: kin-share init --db DB [OPTION]...\n"
	"\n"
	"Makes the tables in an empty database: plain ones, unless an option says how\n"
	"they are spread over several servers.\n"
	"\n"
	"      --server CONN   one for each of the hash partitions, reached over\n"
	"                      postgres_fdw; may be repeated\n"
	"      --posting-server CONN\n"
	"                      one for each partition of the postings, when other\n"
	"                      servers, or the database, have the rest\n"
	"      --citus         distributed tables of Citus\n"
	"      --yugabyte[=N]  tables of YugabyteDB, of N tablets\n"
	"      --limit N       postings of all values below N\n"
	"      --replace       drops the tables that are there, also of another version;\n"
	"                      the hosts fill the new ones within minutes\n"
	"      --reader ROLE   may ask; may be repeated\n"
	"      --writer ROLE   may ask and publish; may be repeated\n";

static const struct option long_options[] = {
	{ "db", required_argument, NULL, 'd' },
	{ "once", no_argument, NULL, 'o' },
	{ "refill", no_argument, NULL, 'R' },
	{ "share", required_argument, NULL, 's' },
	{ "no-paths", no_argument, NULL, 'n' },
	{ "label", required_argument, NULL, 'l' },
	{ "wait", required_argument, NULL, 'w' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "server", required_argument, NULL, 'S' },
	{ "posting-server", required_argument, NULL, 'P' },
	{ "citus", no_argument, NULL, 'c' },
	{ "yugabyte", optional_argument, NULL, 'y' },
	{ "reader", required_argument, NULL, 'r' },
	{ "writer", required_argument, NULL, 'W' },
	{ "limit", required_argument, NULL, 'L' },
	{ "replace", no_argument, NULL, 'X' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static bool add_name(const char **names, size_t *count, const char *name)
{
	if (*count == NAMES_MAX)
		return false;
	names[(*count)++] = name;
	return true;
}

static bool parse_number(const char *text, long long most, long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return !errno && end != text && !*end && *out >= 0 && *out <= most;
}

static bool take_share(struct arguments *a, const char *what)
{
	if (!strcmp(what, "all"))
		return true;
	if (!strcmp(what, "none")) {
		a->options.rules.none = true;
		return true;
	}
	return add_name(a->globs, &a->options.rules.glob_count, what);
}

static bool take_init_option(struct arguments *a, int c)
{
	struct share_schema *s = &a->schema;
	long long n = 0;

	switch (c) {
	case 'S':
		s->layout = LAYOUT_SERVERS;
		return add_name(a->servers, &s->server_count, optarg);
	case 'P':
		s->layout = LAYOUT_SERVERS;
		return add_name(a->posting_servers, &s->posting_server_count,
				optarg);
	case 'c':
		s->layout = LAYOUT_CITUS;
		return true;
	case 'y':
		s->layout = LAYOUT_YUGABYTE;
		if (optarg && !parse_number(optarg, 65536, &n))
			return false;
		s->tablets = (unsigned)n;
		return true;
	case 'r':
		return add_name(a->readers, &s->reader_count, optarg);
	case 'W':
		return add_name(a->writers, &s->writer_count, optarg);
	case 'X':
		s->replace = true;
		return true;
	case 'L':
		if (!parse_number(optarg, INT64_C(1) << 48, &n))
			return false;
		s->limit = n;
		return true;
	default:
		return false;
	}
}

static bool take_option(struct arguments *a, int c)
{
	struct share_options *o = &a->options;
	long long n;

	switch (c) {
	case 'd':
		o->conninfo = optarg;
		return true;
	case 'o':
		o->once = true;
		return true;
	case 'R':
		o->refill = true;
		return true;
	case 's':
		return take_share(a, optarg);
	case 'n':
		o->rules.no_paths = true;
		return true;
	case 'l':
		(void)snprintf(a->label, sizeof(a->label), "%s", optarg);
		return *optarg && strlen(optarg) < sizeof(a->label);
	case 'w':
		if (!parse_number(optarg, 3600, &n))
			return false;
		o->wait_ms = (unsigned)n * 1000;
		return true;
	case 'q':
		o->quiet = true;
		return true;
	default:
		return take_init_option(a, c);
	}
}

/* 0, or an exit code + 1. */
static int parse(struct arguments *a, int argc, char **argv)
{
	int c;

	while ((c = getopt_long(argc, argv, "qhV", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(a->command == INIT ? init_help_text : help_text,
			      stdout);
			return SHARE_OK + 1;
		}
		if (c == 'V') {
			puts("kin-share " KINFS_VERSION);
			return SHARE_OK + 1;
		}
		if (c == '?')
			return usage_error("no such option") + 1;
		if (!take_option(a, c))
			return usage_error("an option has a wrong value") + 1;
	}
	a->operands = argv + optind;
	a->operand_count = argc - optind;
	return 0;
}

/* ---- catalogs ---- */

/* What another user's mount says of itself could be any place. */
static bool is_ours(const char *directory)
{
	struct stat st;

	return !stat(directory, &st) && (!st.st_uid || st.st_uid == geteuid());
}

/* The directory of the catalog of a mount, to be freed. */
static char *catalog_of_mount(const char *mount)
{
	char *text = calloc(STATUS_ROOM, 1), *directory = NULL;
	ssize_t len = text ? getxattr(mount, STATUS_ATTRIBUTE, text,
				      STATUS_ROOM - 1) :
			     -1;
	json_t *status =
		len > 0 ? json_loadb(text, (size_t)len, 0, NULL) : NULL;
	const char *path = json_string_value(
		json_object_get(json_object_get(status, "catalog"), "path"));

	if (path && is_ours(path))
		directory = strdup(path);
	json_decref(status);
	free(text);
	return directory;
}

static char *find_catalog(const char *operand)
{
	struct buf data = { 0 };
	char *found = NULL;

	if (!buf_append_format(&data, "%s/data.mdb", operand) &&
	    !access(data.data, F_OK))
		found = realpath(operand, NULL);
	buf_release(&data);
	return found ? found : catalog_of_mount(operand);
}

static int find_catalogs(struct arguments *a)
{
	struct share_options *o = &a->options;
	int i;

	if (!a->operand_count)
		return usage_error("which mount or catalog?");
	if (a->operand_count > SHARE_CATALOGS_MAX)
		return usage_error("too many catalogs");
	for (i = 0; i < a->operand_count; i++) {
		o->catalogs[i] = find_catalog(a->operands[i]);
		if (!o->catalogs[i]) {
			share_complain("%s: neither a mount of kinfs of yours "
				       "nor the directory of a catalog; of "
				       "another user's mount name the catalog",
				       a->operands[i]);
			return SHARE_FAILED;
		}
		o->catalog_count++;
	}
	return SHARE_OK;
}

/* ---- commands ---- */

static int run_init(struct arguments *a)
{
	struct share_db db = { 0 };
	int err;

	a->schema.servers = a->servers;
	a->schema.posting_servers = a->posting_servers;
	a->schema.readers = a->readers;
	a->schema.writers = a->writers;
	err = db_open(&db, a->options.conninfo, CONNECT_MS);
	if (!err)
		err = schema_make(&db, &a->schema);
	if (err == -EEXIST)
		share_complain("there are tables already; kin-share check "
			       "compares them with a catalog");
	else if (err)
		share_complain("the database: %s", db.message);
	else
		puts("the tables are made");
	db_close(&db);
	return err ? SHARE_FAILED : SHARE_OK;
}

static int run(struct arguments *a)
{
	int code;

	if (!a->options.conninfo)
		return usage_error("which database? --db DB");
	if (a->command == FORGET && a->operand_count != 1)
		return usage_error("which host?");
	if ((a->command == INIT || a->command == GC || a->command == ASK) &&
	    a->operand_count)
		return usage_error("too many arguments");
	switch (a->command) {
	case INIT:
		return run_init(a);
	case FORGET:
		return share_run_forget(&a->options, a->operands[0]);
	case GC:
		return share_run_gc(&a->options);
	case ASK:
		return share_run_ask(&a->options);
	default:
		code = find_catalogs(a);
		if (code)
			return code;
		return a->command == CHECK ? share_run_check(&a->options) :
					     share_run_daemon(&a->options);
	}
}

static int find_command(const char *name)
{
	int i;

	for (i = INIT; i <= ASK; i++)
		if (name && !strcmp(name, command_names[i]))
			return i;
	return PUBLISH;
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.options = { .wait_ms = SHARE_WAIT_MS },
		.schema = { .limit = SHARE_LIMIT_DEFAULT },
	};
	int code;
	size_t i;

	a.options.rules.label = a.label;
	a.options.rules.globs = a.globs;
	if (gethostname(a.label, sizeof(a.label) - 1) || !*a.label)
		(void)snprintf(a.label, sizeof(a.label), "unknown");
	a.command = find_command(argv[1]);
	if (a.command != PUBLISH)
		argv[1] = argv[0];
	code = parse(&a, argc - (a.command != PUBLISH),
		     argv + (a.command != PUBLISH));
	code = code ? code - 1 : run(&a);
	for (i = 0; i < a.options.catalog_count; i++)
		free(a.options.catalogs[i]);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed just above */
	return fflush(stdout) && !code ? SHARE_FAILED : code;
}
