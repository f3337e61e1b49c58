/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "core/catalog/catalog.h"
#include "core/cli/cli.h"
#include "core/cli/groups/dedup_job.h"
#include "core/cli/record.h"

static bool is_sharing(const struct dedup_job *job)
{
	return job->rules.method == DEDUP_REFLINK ||
	       job->rules.method == DEDUP_BLOCKS;
}

/* ---- printing ---- */

void dedup_tell_skipped(void *arg, const char *path, const char *reason)
{
	struct dedup_job *job = arg;

	cli_complain(path, "left alone: %s", reason);
	job->left++;
}

static void print_size(int width, uint64_t bytes)
{
	char text[TEXT_SIZE_ROOM];

	printf("%*s", width,
	       text_format_size((double)bytes, TEXT_UNITS_BRIEF, text));
}

static int print_json(const struct dedup_job *job,
		      const struct dedup_step *step,
		      const struct dedup_result *r, uint64_t bytes)
{
	const struct dedup_file *f = &job->plan.files[step->replace];
	const struct dedup_sharing *s = &r->sharing;
	struct record o;
	size_t i;

	record_begin(&o);
	record_text(&o, "method", dedup_method_names[job->rules.method]);
	record_flag(&o, "done", job->apply && r->outcome == DEDUP_DONE);
	record_number(&o, "bytes", (int64_t)bytes);
	record_path(&o, "path", f->paths[0]);
	if (f->path_count > 1) {
		record_list(&o, "links");
		for (i = 1; i < f->path_count; i++) {
			record_object(&o, NULL);
			record_path(&o, "path", f->paths[i]);
			record_close(&o);
		}
		record_close(&o);
	}
	record_path(&o, "kept", job->plan.files[r->keep].paths[0]);
	if (is_sharing(job)) {
		record_number(&o, "ranges", (int64_t)s->ranges);
		record_number(&o, "equal_bytes", (int64_t)s->equal);
		record_number(&o, "shared_before", (int64_t)s->shared);
		record_number(&o, "newly_shared", (int64_t)s->newly_shared);
	}
	if (r->outcome != DEDUP_DONE)
		record_text(&o, "reason", r->reason);
	return record_print(&o);
}

static void print_sharing(const struct dedup_sharing *s)
{
	fputs("    equal ", stdout);
	print_size(0, s->equal);
	printf(" in %llu ranges; ", (unsigned long long)s->ranges);
	print_size(0, s->shared);
	puts(" shared already");
}

static void print_step(const struct dedup_job *job,
		       const struct dedup_step *step,
		       const struct dedup_result *r, uint64_t bytes)
{
	const struct dedup_file *f = &job->plan.files[step->replace];
	size_t i;

	printf("%-8s ", dedup_method_names[job->rules.method]);
	print_size(10, bytes);
	for (i = 0; i < f->path_count; i++) {
		fputs(i ? "\n    also             " : "  ", stdout);
		cli_print_escaped(f->paths[i], ESCAPE_TERMINAL);
	}
	fputs("\n    keep             ", stdout);
	cli_print_escaped(job->plan.files[r->keep].paths[0], ESCAPE_TERMINAL);
	putchar('\n');
	if (is_sharing(job))
		print_sharing(&r->sharing);
}

static int print_totals(const struct dedup_job *job)
{
	struct record o;

	record_totals(&o);
	record_text(&o, "method", dedup_method_names[job->rules.method]);
	record_flag(&o, "applied", job->apply);
	record_number(&o, "files", (int64_t)job->done);
	record_number(&o, "bytes", (int64_t)job->bytes);
	record_number(&o, "left_alone", (int64_t)job->left);
	record_number(&o, "linked_before", (int64_t)job->plan.linked_count);
	if (job->apply)
		record_path(&o, "journal", job->journal);
	record_complete(&o, !job->left, NULL);
	return record_print(&o);
}

/* ---- the plan ---- */

/* Does one step, or without a journal says what it would come to. */
static int do_step(struct dedup_job *job, const struct dedup_step *step,
		   struct dedup_journal *j, bool *stop_out)
{
	const char *path = job->plan.files[step->replace].paths[0];
	struct dedup_result r = { 0 };
	uint64_t bytes = 0;

	dedup_apply(&job->plan, step, &job->rules, j, &r);
	*stop_out = r.outcome == DEDUP_STOP;
	if (is_sharing(job))
		bytes = j ? r.sharing.freed : r.sharing.gain;
	else if (r.outcome == DEDUP_DONE)
		bytes = step->bytes;
	job->done += r.outcome == DEDUP_DONE;
	job->bytes += bytes;
	if (r.outcome == DEDUP_KEPT)
		(void)snprintf(r.reason, sizeof(r.reason),
			       "kept, too: a file can have no more links");
	else
		job->left += r.outcome != DEDUP_DONE;
	if (job->json)
		return print_json(job, step, &r, bytes);
	if (r.outcome == DEDUP_KEPT)
		cli_complain(path, "%s", r.reason);
	else if (r.outcome != DEDUP_DONE)
		cli_complain(path, "left alone: %s", r.reason);
	else if (!j)
		print_step(job, step, &r, bytes);
	return EXIT_OK;
}

/* ---- carrying it out ---- */

/* DIRECTORY/dedup/DATE-PID.journal */
static char *default_journal(void)
{
	struct buf path = { 0 };
	char date[32];
	struct tm tm;
	time_t now = time(NULL);
	int err = catalog_state_directory(&path);

	if (!err)
		err = buf_append_text(&path, "/dedup");
	if (!err)
		err = catalog_make_directories(path.data);
	if (!err && localtime_r(&now, &tm) &&
	    strftime(date, sizeof(date), "%Y-%m-%d-%H%M%S", &tm))
		err = buf_append_format(&path, "/%s-%d.journal", date,
					(int)getpid());
	if (err) {
		cli_complain(path.data,
			     "no place for the journal: %s; name one "
			     "with --journal",
			     err_text(err));
		buf_release(&path);
	}
	return buf_take(&path);
}

/* Runs that were killed may have left a temporary name each. */
static void settle_journals(const char *journal)
{
	const char *slash = strrchr(journal, '/');
	char *directory =
		slash ? strndup(journal, (size_t)(slash - journal + 1)) :
			strdup("./");
	DIR *dir = directory ? opendir(directory) : NULL;
	struct dirent *d;
	char *path;
	bool settled;

	while (dir && (d = readdir(dir)) != NULL) {
		size_t len = strlen(d->d_name);

		if (len < 8 || strcmp(d->d_name + len - 8, ".journal") != 0 ||
		    asprintf(&path, "%s%s", directory, d->d_name) < 0)
			continue;
		if (!dedup_settle(path, &settled) && settled)
			cli_complain(path,
				     "this run was stopped in a step: the "
				     "temporary file it left was removed");
		free(path);
	}
	if (dir)
		closedir(dir);
	free(directory);
}

static int create_journal(struct dedup_job *job, struct dedup_journal **out)
{
	int err;

	if (!job->journal)
		job->journal = default_journal();
	if (!job->journal)
		return EXIT_FAILED;
	settle_journals(job->journal);
	err = dedup_journal_create(job->journal, out);
	if (err == -EPERM)
		cli_complain(
			job->journal,
			"the directory of the journal belongs to another user, "
			"or others may write to the directory, and so replace "
			"it; nothing was changed");
	else if (err)
		cli_complain(job->journal,
			     "the journal cannot be written: %s; nothing was "
			     "changed",
			     err_text(err));
	return err ? EXIT_FAILED : EXIT_OK;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

/* The step that it comes in is finished; the second time it kills. */
static void catch_interrupts(void)
{
	struct sigaction action = { .sa_handler = interrupt,
				    .sa_flags =
					    (int)SA_RESETHAND | SA_RESTART };

	(void)sigaction(SIGINT, &action, NULL);
	(void)sigaction(SIGTERM, &action, NULL);
}

static void print_end(const struct dedup_job *job)
{
	bool sharing = is_sharing(job);

	printf("%zu %s %s, %s", job->done,
	       text_plural(job->done, "file", "files"),
	       !job->apply ?
		       sharing ? "would share blocks" : "would be replaced" :
	       !sharing       ? "replaced" :
	       job->done == 1 ? "shares blocks" :
				"share blocks",
	       job->apply ? "" :
	       sharing    ? "which frees at least " :
			    "which frees ");
	print_size(0, job->bytes);
	if (job->apply)
		printf(" freed, %zu left alone.\n", job->left);
	else
		puts(".  Nothing was changed; --apply does it.");
	if (job->plan.linked_count)
		printf("%zu %s of a kept file already.\n",
		       job->plan.linked_count,
		       text_plural(job->plan.linked_count,
				   "path is a hard link",
				   "paths are hard links"));
	if (!job->apply || !job->done)
		return;
	if (sharing) {
		puts("No content was changed, so there is nothing to undo.");
		return;
	}
	fputs("kin dedup --undo ", stdout);
	cli_print_escaped(job->journal, ESCAPE_TERMINAL);
	puts("   takes it back");
}

int dedup_run_plan(struct dedup_job *job)
{
	const size_t count = job->plan.step_count;
	struct dedup_journal *j = NULL;
	bool stopped = false;
	size_t i;
	int code = job->apply ? create_journal(job, &j) : EXIT_OK;

	if (code)
		return code;
	if (job->apply)
		catch_interrupts();
	for (i = 0; i < count && !code && !stopped && !interrupted; i++)
		code = do_step(job, &job->plan.steps[i], j, &stopped);
	if (interrupted && i < count) {
		cli_complain(NULL, "interrupted: %zu %s not looked at",
			     count - i,
			     text_plural(count - i, "file was", "files were"));
		job->left += count - i;
	}
	dedup_journal_free(j);
	if (!code && job->json)
		code = print_totals(job);
	else if (!code)
		print_end(job);
	return code;
}

/* ---- taking it back ---- */

static void tell_undo(void *arg, const char *path, const char *reason)
{
	(void)arg;
	cli_complain(path, "not restored: %s", reason);
}

static int explain_undo(const char *journal, int err)
{
	if (err == -EINVAL)
		cli_complain(journal, "is not a journal of kin dedup; nothing "
				      "was changed");
	else if (err == -EPERM)
		cli_complain(journal,
			     "another user may have written it; nothing "
			     "was changed");
	else if (err == -EBUSY)
		cli_complain(journal,
			     "kin dedup is still writing it; nothing was "
			     "changed");
	else
		cli_complain_errno(journal, err);
	return EXIT_FAILED;
}

int dedup_take_back(const struct dedup_job *job)
{
	struct dedup_undo_counts counts;
	int err = dedup_undo(job->undo, job->rules.force_metadata, tell_undo,
			     NULL, &counts),
	    code;

	if (err)
		return explain_undo(job->undo, err);
	code = counts.failed ? EXIT_FAILED : EXIT_OK;
	if (job->json) {
		struct record o;

		record_totals(&o);
		record_number(&o, "restored", (int64_t)counts.restored);
		record_number(&o, "failed", (int64_t)counts.failed);
		record_number(&o, "nothing_to_do", (int64_t)counts.nothing);
		record_number(&o, "keep_sharing", (int64_t)counts.sharing);
		record_complete(&o, !counts.failed, NULL);
		err = record_print(&o);
		return err ? err : code;
	}
	printf("%zu %s restored, %zu not, %zu needed nothing\n",
	       counts.restored, text_plural(counts.restored, "file", "files"),
	       counts.failed, counts.nothing);
	if (counts.sharing)
		printf("%zu %s sharing blocks, which changed no content\n",
		       counts.sharing,
		       text_plural(counts.sharing, "file keeps", "files keep"));
	return code;
}
