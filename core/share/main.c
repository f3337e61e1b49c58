/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "core/base/logger.h"
#include "core/base/text.h"
#include "core/base/utf8.h"
#include "core/client/client.h"
#include "core/share/ask.h"
#include "core/share/share.h"

enum { LINE_BYTES = 2048 };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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
	"      --yugabyte      tables of YugabyteDB\n"
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
	{ "yugabyte", no_argument, NULL, 'y' },
	{ "reader", required_argument, NULL, 'r' },
	{ "writer", required_argument, NULL, 'W' },
	{ "limit", required_argument, NULL, 'L' },
	{ "replace", no_argument, NULL, 'X' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ 0 },
};

static bool add_name(struct share_names *names)
{
	if (names->count == COUNT(names->all))
		return false;
	names->all[names->count++] = optarg;
	return true;
}

static bool take_number(uint64_t most, uint64_t *out)
{
	const char *at = optarg, *end = optarg + strlen(optarg);

	return text_number(&at, end, out) && at == end && *out <= most;
}

static bool take_init_option(struct share_schema *s, int c)
{
	uint64_t n = 0;
	bool is_right;

	switch (c) {
	case 'S':
		s->layout = LAYOUT_SERVERS;
		return add_name(&s->servers);
	case 'P':
		s->layout = LAYOUT_SERVERS;
		return add_name(&s->posting_servers);
	case 'c':
		s->layout = LAYOUT_CITUS;
		return true;
	case 'y':
		s->layout = LAYOUT_YUGABYTE;
		return true;
	case 'r':
		return add_name(&s->readers);
	case 'W':
		return add_name(&s->writers);
	case 'X':
		return s->replace = true;
	case 'L':
		is_right = take_number(UINT64_C(1) << 48, &n);
		s->limit = (int64_t)n;
		return is_right;
	default:
		return false;
	}
}

static bool take_option(struct share_options *o, int c)
{
	char *label = o->rules.label;
	uint64_t n = 0;
	bool is_right;

	switch (c) {
	case 'd':
		o->conninfo = optarg;
		return true;
	case 'o':
		return o->once = true;
	case 'R':
		return o->refill = true;
	case 's':
		if (!strcmp(optarg, "all"))
			return true;
		if (strcmp(optarg, "none") != 0)
			return add_name(&o->rules.globs);
		return o->rules.none = true;
	case 'n':
		return o->rules.no_paths = true;
	case 'l':
		(void)snprintf(label, sizeof(o->rules.label), "%s", optarg);
		return *label && !strcmp(label, optarg);
	case 'w':
		is_right = take_number(3600, &n);
		o->wait_ms = (unsigned)n * 1000;
		return is_right;
	case 'q':
		return o->quiet = true;
	default:
		return take_init_option(&o->schema, c);
	}
}

/* To be freed; NULL: there is none. */
static char *find_catalog(const char *operand)
{
	struct mount mount = { 0 };
	struct buf data = { 0 };
	char *found = NULL;

	if (!buf_append_format(&data, "%s/data.mdb", operand) &&
	    !access(data.data, F_OK))
		found = realpath(operand, NULL);
	else if (!mount_find(operand, &mount) && !*mount.rel)
		found = mount_get_place(&mount, "catalog", "path");
	mount_release(&mount);
	buf_release(&data);
	return found;
}

enum { CATALOGS = -1 };

static const struct share_command {
	const char *name;
	int (*run)(struct share_options *o);
	int operands;         /* how many, or CATALOGS */
	const char *question; /* when there are fewer */
} commands[] = {
	{ NULL, share_run_daemon, CATALOGS, "which mount or catalog?" },
	{ "init", share_run_init, 0, NULL },
	{ "check", share_run_check, CATALOGS, "which mount or catalog?" },
	{ "forget", share_run_forget, 1, "which host?" },
	{ "gc", share_run_gc, 0, NULL },
	{ "ask", share_run_ask, 0, NULL },
};

static int run(const struct share_command *command, struct share_options *o,
	       int argc, char **argv)
{
	const int most = command->operands == CATALOGS ? SHARE_CATALOGS_MAX :
							 command->operands;
	int c, i, code = SHARE_OK;

	while ((c = getopt_long(argc, argv, "qhV", long_options, NULL)) != -1) {
		if (c == 'h' || c == 'V') {
			fputs(c == 'V' ? "kin-share " KINFS_VERSION "\n" :
			      command->run == share_run_init ? init_help_text :
							       help_text,
			      stdout);
			return SHARE_OK;
		}
		if (c == '?')
			return usage_error("no such option");
		if (!take_option(o, c))
			return usage_error("an option has a wrong value");
	}
	if (!o->conninfo)
		return usage_error("which database? --db DB");
	if (optind == argc && command->operands)
		return usage_error(command->question);
	if (argc - optind > most)
		return usage_error("too many arguments");
	o->operand = argv[optind];
	for (i = optind; i < argc && command->operands == CATALOGS; i++) {
		o->catalogs[o->catalog_count] = find_catalog(argv[i]);
		if (!o->catalogs[o->catalog_count++]) {
			share_complain("%s: neither a mount of kinfs of yours "
				       "nor the directory of a catalog; of "
				       "another user's mount name the catalog",
				       argv[i]);
			code = SHARE_FAILED;
			break;
		}
	}
	return code ? code : command->run(o);
}

int main(int argc, char **argv)
{
	struct share_options o = { .wait_ms = SHARE_WAIT_MS,
				   .schema.limit = SHARE_LIMIT_DEFAULT };
	const struct share_command *command = commands;
	size_t i;
	int code;

	if (gethostname(o.rules.label, sizeof(o.rules.label) - 1) ||
	    !*o.rules.label)
		(void)snprintf(o.rules.label, sizeof(o.rules.label), "unknown");
	for (i = 1; i < COUNT(commands) && argc > 1; i++)
		if (!strcmp(argv[1], commands[i].name))
			command = &commands[i];
	if (command->name) {
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	code = run(command, &o, argc, argv);
	for (i = 0; i < o.catalog_count; i++)
		free(o.catalogs[i]);
	return fflush(stdout) && !code ? SHARE_FAILED : code;
}
