/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cli/similar/similar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/groups/groups.h"

/*
 * What resembles a file that is not in the mount: its digests are worked out
 * here and written to .similar/.query, which answers with paths.
 */

/* ---- the question ---- */

static int make_question(const struct similar_job *job, struct buf *out)
{
	int err = buf_append_format(out, "relation=%s\nsize=%llu\n",
				    index_relation_names[job->relation],
				    (unsigned long long)job->digests.size);

	return err ? err : digests_format_lines(&job->digests, DIGEST_ALL, out);
}

static int read_all(int fd, struct buf *out)
{
	char piece[4096];
	ssize_t len;
	int err = 0;

	while (!err && (len = read(fd, piece, sizeof(piece))) != 0) {
		if (len < 0 && errno != EINTR)
			return -errno;
		if (len > 0)
			err = buf_append(out, piece, (size_t)len);
	}
	return err;
}

/* ---- the answer ---- */

/* "listed/docs/report.txt": sets the reason.  NULL: there is none. */
static const char *parse_reason(const char *text, enum verdict_reason *out)
{
	int reason;
	size_t len;

	for (reason = 0; reason < VERDICT_REASONS; reason++) {
		len = strlen(verdict_reason_names[reason]);
		if (strncmp(text, verdict_reason_names[reason], len) != 0)
			continue;
		*out = (enum verdict_reason)reason;
		return text + len;
	}
	return NULL;
}

/* "97/docs/report.txt"; with the relation all "97 80 listed/docs/report.txt",
 * with the relation shares "5 26214/docs/report.txt".  rel_out is behind the
 * slash. */
static int parse_record(const struct similar_job *job, const char *record,
			struct similar_found *out, const char **rel_out)
{
	const bool is_all = job->relation == INDEX_ALL;
	long long detail = -1;
	const char *at;
	char *end;
	long score = strtol(record, &end, 10);

	if (end == record || score < 0 || score > 100)
		return -EBADMSG;
	*out = (struct similar_found){ .score = (int)score };
	if (*end == ' ')
		detail = strtoll(end + 1, &end, 10);
	at = end;
	if (is_all && *at == ' ')
		at = parse_reason(at + 1, &out->reason);
	if (!at || *at != '/' || !text_is_plain_path(at + 1) ||
	    (is_all && detail > 100))
		return -EBADMSG;
	out->distinctive = is_all ? (int)detail : -1;
	out->bytes = is_all ? -1 : (json_int_t)detail;
	*rel_out = at + 1;
	return 0;
}

/* One record of a file, or "cut" or "incomplete" of the whole answer. */
static int take_record(struct similar_job *job, const char *record,
		       similar_take_fn *take, void *arg)
{
	struct similar_found found;
	const char *rel;
	char *path;
	int err;

	if (!strcmp(record, "cut")) {
		(void)snprintf(job->reason, sizeof(job->reason), "cut");
		return 0;
	}
	if (!strcmp(record, "incomplete")) {
		(void)snprintf(job->reason, sizeof(job->reason), "%s", record);
		return 0;
	}
	err = parse_record(job, record, &found, &rel);
	if (err)
		return err;
	path = similar_path(job, rel);
	if (!path)
		return -ENOMEM;
	found.path = path;
	err = take(arg, &found);
	free(path);
	return err;
}

static int take_answer(struct similar_job *job, const struct buf *answer,
		       similar_take_fn *take, void *arg)
{
	size_t at = 0;
	int err = 0;

	if (answer->len && answer->data[answer->len - 1])
		return -EBADMSG;
	while (at < answer->len && !err) {
		err = take_record(job, answer->data + at, take, arg);
		at += strlen(answer->data + at) + 1;
	}
	return err;
}

/* ---- all of it ---- */

int similar_digest(struct similar_job *job, const char *path)
{
	struct reader reader;
	int err;

	if (reader_init(&reader, DIGEST_DEFAULT))
		return 1;
	if (!strcmp(path, "-"))
		err = reader_digest_fd(&reader, STDIN_FILENO, "stdin",
				       &job->digests);
	else
		err = reader_digest_path(&reader, path, true, &job->digests);
	reader_release(&reader);
	if (!err)
		return 0;
	cli_complain_errno(path, err);
	return 1;
}

/* 1 after a message. */
static int ask(const struct similar_job *job, struct buf *answer)
{
	struct buf question = { 0 };
	int fd, err = make_question(job, &question);

	if (!err)
		err = query_ask(job->listings, &question, &fd);
	buf_release(&question);
	if (err == -ENOENT || err == -EISDIR) {
		cli_complain(
			job->mount.root,
			"its kinfs is too old to search for files outside it");
		return 1;
	}
	if (!err) {
		err = read_all(fd, answer);
		close(fd);
	}
	return err;
}

int similar_ask(struct similar_job *job, similar_take_fn *take, void *arg)
{
	struct buf answer = { 0 };
	int err = ask(job, &answer);

	if (!err)
		err = take_answer(job, &answer, take, arg);
	buf_release(&answer);
	return err;
}

static int show(void *arg, const struct similar_found *found)
{
	return similar_show(arg, found);
}

int similar_of(struct similar_job *job)
{
	int err = similar_digest(job, job->of);

	return err ? err : similar_ask(job, show, job);
}
