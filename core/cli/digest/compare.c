/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/cli/cli.h"
#include "core/digest/sise.h"
#include "core/index/judge.h"

struct compare_job {
	bool json;
	const char *measure;           /* -m */
	const struct digest_ops *only; /* of which it is the measure; or NULL */
	const char *paths[2];
	struct reader reader;
	struct operands lists[2];
	struct operand sides[2]; /* at hand; borrowed from the lists */
	struct measures measures;
	int score; /* -1: nothing to work it out from */
	bool by_text;
};

int measures_take(const struct digests *a, const struct digests *b,
		  struct measures *out)
{
	struct measures m = { .distance = -1, .matches = -1, .tlsh = -1 };
	size_t i;
	int id, err;

	for (id = 0; id < DIGEST_COUNT; id++) {
		err = digest_compare((enum digest_id)id, a, b,
				     &m.by_digest[id]);
		if (err == -ENODATA)
			m.by_digest[id] = -1;
		else if (err)
			return err;
	}
	if (m.by_digest[DIGEST_SIMHASH] >= 0)
		m.distance = __builtin_popcountll(digests_simhash(a) ^
						  digests_simhash(b));
	if (m.by_digest[DIGEST_RDC] >= 0)
		for (i = 0, m.matches = 0; i < sizeof(a->traits); i++)
			m.matches += a->traits[i] == b->traits[i];
	err = digest_tlsh_distance(a, b, &m.tlsh);
	if (err && err != -ENODATA)
		return err;
	*out = m;
	return 0;
}

/* ---- by SiSe ---- */

/*
 * The four modes of comparing by SiSe (paper, 4.1).  Signatures are what they
 * are; a content is cut into pieces of the size that the other side has: of
 * two contents the larger one as the smaller one.
 */

/* The signature of a file whose search starts at that block size. */
static int read_from(struct reader *r, const char *path, uint64_t block_size,
		     struct sise_signature *out)
{
	struct ctph *sise = malloc(sizeof(*sise));
	int fd = -1, err = sise ? sise_init_from(sise, block_size) : -ENOMEM;
	ssize_t n = 0;

	if (!err)
		err = reader_open(path, true, &fd);
	while (!err && (n = reader_next(r, fd, UINT64_MAX)) > 0)
		ctph_update(sise, r->buffer, (size_t)n);
	if (!err)
		err = (int)n;
	if (!err)
		sise_read(sise, out);
	if (fd >= 0)
		close(fd);
	free(sise);
	return err;
}

/*
 * The SiSe score of two operands, of which one at least is a content, by the
 * mode that is meant for such a pair.  -ENODATA when that is what their own
 * signatures say already.
 */
static int compare_by_sise(struct reader *r, const struct operand sides[2],
			   const char *const paths[2], int *score_out)
{
	const uint64_t sizes[] = { sides[0].digests.size,
				   sides[1].digests.size };
	const bool both = sides[0].is_content && sides[1].is_content;
	/* The side that is cut anew. */
	const int cut = both ? sizes[0] <= sizes[1] : !sides[0].is_content;
	struct sise_signature *s;
	struct digest_value v;
	uint64_t block_size;
	int side, err = 0;

	/* A content that came through a pipe is gone. */
	if (!sides[cut].is_content || !strcmp(paths[cut], "-"))
		return -ENODATA;
	s = malloc(2 * sizeof(*s));
	if (!s)
		return -ENOMEM;
	for (side = 0; side < 2 && !err; side++) {
		v = digest_value_of(&sides[side].digests, DIGEST_SISE);
		err = v.bytes ? sise_unpack(v, &s[side]) : -ENODATA;
	}
	if (!err) {
		block_size = s[!cut].leading.block_size;
		if (s[cut].leading.block_size != block_size)
			err = read_from(r, paths[cut], block_size, &s[cut]);
	}
	if (!err)
		*score_out = sise_score(&s[0], &s[1]);
	free(s);
	/* The block size is one of a foreign signature that we cannot make. */
	return err == -EINVAL ? -ENODATA : err;
}

/* ---- a pair ---- */

static int job_compute(struct compare_job *job)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE };
	const bool known[] = { job->sides[0].is_content,
			       job->sides[1].is_content };
	struct digests *a = &job->sides[0].digests;
	struct digests *b = &job->sides[1].digests;
	int *scores = job->measures.by_digest;
	struct verdict v;
	int id, err;

	/* Digests alone do not tell the size: it is taken from the other side,
	 * and two such sides are taken as equally large. */
	if (!known[0] && !known[1])
		a->size = b->size = 1 << 20;
	else if (!known[0])
		a->size = b->size;
	else if (!known[1])
		b->size = a->size;
	err = measures_take(a, b, &job->measures);
	if (err)
		return err;
	job->score = -1;
	if (known[0] && known[1] && !a->size && !b->size) {
		/* Two empty contents are identical.  Their digests say less:
		 * each is that of a content too small for it. */
		job->score = 100;
		for (id = 0; id < DIGEST_COUNT; id++)
			scores[id] = scores[id] >= 0 ? 100 : scores[id];
		return 0;
	}
	err = judge_digests(a, b, &rules, &v);
	if (!err)
		job->score = v.score;
	job->by_text = !err && v.by_text;
	if ((!err || err == -ENODATA) && scores[DIGEST_SISE] >= 0)
		err = compare_by_sise(&job->reader, job->sides, job->paths,
				      &scores[DIGEST_SISE]);
	return err == -ENODATA ? 0 : err;
}

/* By which of the pairs of two lists is the best; a larger one is better. */
static int rank(const struct compare_job *job)
{
	int best = -1, id;

	if (job->only && job->only->id == DIGEST_TLSH)
		return job->measures.tlsh < 0 ? INT_MIN : -job->measures.tlsh;
	if (job->only)
		return job->measures.by_digest[job->only->id];
	for (id = 0; id < DIGEST_COUNT; id++)
		if (job->measures.by_digest[id] > best)
			best = job->measures.by_digest[id];
	/* Some measures alone give no score. */
	return 1000 * job->score + best;
}

/* Every digest of one side with every one of the other; the best pair stays. */
static int job_compute_best(struct compare_job *job)
{
	struct compare_job best = *job;
	size_t i, j;
	int err = 0;

	for (i = 0; i < job->lists[0].count && !err; i++)
		for (j = 0; j < job->lists[1].count && !err; j++) {
			job->sides[0] = job->lists[0].all[i];
			job->sides[1] = job->lists[1].all[j];
			err = job_compute(job);
			if (!i && !j)
				best = *job;
			else if (!err && rank(job) > rank(&best))
				best = *job;
		}
	best.reader = job->reader;
	*job = best;
	return err;
}

/* ---- printing ---- */

/* A row of the text, and a key of the JSON.  shown: a text in place of the
 * number, or behind it. */
static void put(const struct compare_job *job, json_t *to, const char *key,
		const char *title, int value, const char *shown)
{
	if (job->json)
		(void)json_object_set_new(
			to, key, value < 0 ? json_null() : json_integer(value));
	else if (title && value < 0)
		printf("%-8s   -%s\n", title, shown);
	else if (title)
		printf("%-8s %3d%s\n", title, value, shown);
}

/* Of a list the digest that counted. */
static void put_name(const struct compare_job *job, json_t *to, int side)
{
	const char *name = job->sides[side].name;
	const size_t count = job->lists[side].count;

	if (job->json)
		(void)json_set_path(to, side ? "b" : "a", job->paths[side]);
	if (count < 2)
		return;
	if (job->json) {
		(void)json_set_path(to, side ? "b_best" : "a_best", name);
		return;
	}
	printf("%-8s     ", side ? "b" : "a");
	utf8_print_safe(stdout, name);
	printf(", the best of %zu\n", count);
}

static int print_measures(const struct compare_job *job)
{
	const struct measures *m = &job->measures;
	json_t *to = job->json ? json_object() : NULL;
	char note[64];
	int id;

	put_name(job, to, 0);
	put_name(job, to, 1);
	put(job, to, "score", "score", job->score,
	    job->by_text ? "  by text" : "");
	if (job->json && job->by_text)
		(void)json_object_set_new(to, "by", json_string("text"));
	for (id = 0; id < DIGEST_COUNT; id++) {
		const char *name = digest_table[id]->name;
		const uint32_t always =
			job->json ? ~DIGEST_EXCHANGE : DIGEST_DEFAULT;
		bool told = m->by_digest[id] >= 0 || (always & DIGEST_BIT(id));

		note[0] = '\0';
		if (id == DIGEST_SIMHASH && m->distance >= 0)
			(void)snprintf(note, sizeof(note),
				       "  distance %d of 64 bits", m->distance);
		if (id == DIGEST_RDC && m->matches >= 0)
			(void)snprintf(note, sizeof(note),
				       "  %d of 16 traits equal", m->matches);
		if (id == DIGEST_TLSH && m->tlsh >= 0) {
			(void)snprintf(note, sizeof(note), "  distance %d",
				       m->tlsh);
			told = told || !job->json;
		}
		if (told)
			put(job, to, name, name, m->by_digest[id], note);
	}
	if (m->tlsh >= 0)
		put(job, to, "tlsh_distance", NULL, m->tlsh, "");
	put(job, to, "simhash_distance", NULL, m->distance, "");
	put(job, to, "rdc_matches", NULL, m->matches, "");
	return job->json ? cli_print_json(to) : EXIT_OK;
}

static int print_one(const struct compare_job *job)
{
	int value = job->score;

	if (job->only)
		value = job->only->id == DIGEST_TLSH ?
				job->measures.tlsh :
				job->measures.by_digest[job->only->id];
	if (value < 0)
		return cli_complain(NULL, "no %s on both sides", job->measure);
	printf("%d\n", value);
	return EXIT_OK;
}

/* ---- the command ---- */

/* Only what is needed is computed: of what is no default, what the other side
 * has. */
static int job_run(struct compare_job *job)
{
	uint32_t set = DIGEST_DEFAULT;
	int side, err, code = EXIT_OK;
	size_t i;

	for (side = 0; side < 2 && !code; side++) {
		code = operands_look(job->paths[side], &job->lists[side]);
		for (i = 0; i < job->lists[side].count; i++)
			set |= job->lists[side].all[i].digests.set;
	}
	if (!code)
		code = reader_init(&job->reader,
				   job->only ? DIGEST_BIT(job->only->id) : set);
	for (side = 0; side < 2 && !code; side++)
		code = operands_read(&job->reader, job->paths[side], !job->only,
				     &job->lists[side]);
	if (code)
		return code;
	err = job_compute_best(job);
	if (!err)
		return job->measure ? print_one(job) : print_measures(job);
	return cli_complain_errno(NULL, err);
}

static struct compare_job compare_job;

static int run(const struct command *self, char **paths)
{
	struct compare_job *job = self->job;

	job->only = job->measure ? digest_find(job->measure) : NULL;
	if (job->measure && !job->only && strcmp(job->measure, "score") != 0)
		return cli_usage_error(self, "no measure '%s'", job->measure);
	if (!strcmp(paths[0], "-") && !strcmp(paths[1], "-"))
		return cli_usage_error(self, "standard input can be only one "
					     "of them");
	job->paths[0] = paths[0];
	job->paths[1] = paths[1];
	return job_run(job);
}

static const struct option_row options[] = {
	{ "measure", 'm', "NAME",
	  "only that number; tlsh is a distance: "
	  "score|sise|simhash|rdc|sif|ssdeep|xxh128|sdhash|tlsh",
	  OPTION_TEXT(struct compare_job, measure) },
	{ "json", 0, NULL, "one object",
	  OPTION_FLAG(struct compare_job, json) },
	{ 0 },
};

const struct command command_compare = {
	.name = "compare",
	.synopsis = "compare [-m NAME] [--json] A B",
	.summary = "Compare two files or digests by every measure",
	.help = "A and B are each one of\n"
		"\n"
		"  FILE       a file, or - for standard input\n"
		"  FILE       with digests as kin digest, getfattr -d, SiSe, ssdeep or sdhash\n"
		"             print them: the best one counts (- compares such a file itself)\n"
		"  NAME:TEXT  a digest, as sise:TEXT or simhash:HEX (a file of that name: ./NAME)\n",
	.options = options,
	.notes =
		"score is the estimated percentage of the larger content that the smaller one\n"
		"contains; 100 means identical.  The size of a content whose digest alone is\n"
		"known is taken from the other side; two such contents count as equally large.\n",
	.operands = { 2, 2 },
	.lacking = "two things to compare?",
	.job = &compare_job,
	.run = run,
};
