/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/utf8.h"
#include "core/cli/digest/style.h"
#include "core/digest/sise.h"
#include "core/index/judge.h"

/* One digest or content of each side. */
struct pair {
	const struct operand *sides[2];
	struct measures measures;
	int score; /* -1: nothing to work it out from */
	enum subject_part by;
};

struct compare_job {
	bool json;
	const char *measure;           /* -m */
	const struct digest_ops *only; /* of which it is the measure; or NULL */
	char **paths;
	struct reader reader;
	struct operands lists[2];
	struct ctph ctph; /* for a content that is cut anew */
	struct sise_signature signatures[2];
};

int measures_take(const struct digests *a, const struct digests *b,
		  struct measures *out)
{
	struct measures m = {
		.distance = -1, .matches = -1, .tlsh = -1, .pdq = -1
	};
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
	if (!err || err == -ENODATA)
		err = digest_pdq_distance(a, b, &m.pdq);
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
static int read_from(struct compare_job *job, const char *path,
		     uint64_t block_size, struct sise_signature *out)
{
	int fd, err = sise_init_from(&job->ctph, block_size);
	ssize_t n;

	if (!err)
		err = reader_open(path, true, &fd);
	if (err)
		return err;
	while ((n = reader_next(&job->reader, fd, UINT64_MAX)) > 0)
		ctph_update(&job->ctph, job->reader.buffer, (size_t)n);
	close(fd);
	if (!n)
		sise_read(&job->ctph, out);
	return (int)n;
}

/*
 * The SiSe score of two operands, of which one at least is a content, by the
 * mode that is meant for such a pair.  -ENODATA when that is what their own
 * signatures say already.
 */
static int compare_by_sise(struct compare_job *job,
			   const struct operand *const sides[2], int *score_out)
{
	const bool both = sides[0]->is_content && sides[1]->is_content;
	/* The side that is cut anew. */
	const int cut =
		both ? sides[0]->digests.size <= sides[1]->digests.size :
		       !sides[0]->is_content;
	struct sise_signature *s = job->signatures;
	struct digest_value v;
	uint64_t block_size;
	int side, err = 0;

	/* A content that came through a pipe is gone. */
	if (!sides[cut]->is_content || !strcmp(sides[cut]->name, "-"))
		return -ENODATA;
	for (side = 0; side < 2 && !err; side++) {
		v = digest_value_of(&sides[side]->digests, DIGEST_SISE);
		err = v.bytes ? sise_unpack(v, &s[side]) : -ENODATA;
	}
	block_size = s[!cut].leading.block_size;
	if (!err && s[cut].leading.block_size != block_size)
		err = read_from(job, sides[cut]->name, block_size, &s[cut]);
	if (!err)
		*score_out = sise_score(&s[0], &s[1]);
	/* The block size is one of a foreign signature that we cannot make. */
	return err == -EINVAL ? -ENODATA : err;
}

/* ---- a pair ---- */

static int compute(struct compare_job *job, struct pair *p)
{
	const struct judge_rules rules = { .relation = INDEX_ALIKE };
	const bool known[] = { p->sides[0]->is_content,
			       p->sides[1]->is_content };
	struct digests a = p->sides[0]->digests, b = p->sides[1]->digests;
	int *scores = p->measures.by_digest;
	struct verdict v;
	int id, err;

	/* Digests alone do not tell the size: it is taken from the other side,
	 * and two such sides are taken as equally large. */
	if (!known[0])
		a.size = known[1] ? b.size : 1 << 20;
	if (!known[1])
		b.size = a.size;
	err = measures_take(&a, &b, &p->measures);
	if (err)
		return err;
	p->score = -1;
	if (!a.size && scores[DIGEST_XXH128] == 100) {
		/* Two empty contents are identical.  Their digests say less:
		 * each is that of a content too small for it. */
		p->score = 100;
		for (id = 0; id < DIGEST_COUNT; id++)
			scores[id] = scores[id] >= 0 ? 100 : scores[id];
		return 0;
	}
	err = judge_digests(&a, &b, &rules, &v);
	if (!err)
		p->score = v.score;
	p->by = err ? SUBJECT_BYTES : v.by;
	if ((!err || err == -ENODATA) && scores[DIGEST_SISE] >= 0)
		err = compare_by_sise(job, p->sides, &scores[DIGEST_SISE]);
	return err == -ENODATA ? 0 : err;
}

/* The distance by a digest that has one in place of a percentage; or NULL. */
static const int *distance_of(const struct measures *m, enum digest_id id)
{
	return id == DIGEST_TLSH ? &m->tlsh : id == DIGEST_PDQ ? &m->pdq : NULL;
}

/* The number that -m asks for, without it the score. */
static int number_of(const struct compare_job *job, const struct pair *p)
{
	const int *distance;

	if (!job->only)
		return p->score;
	distance = distance_of(&p->measures, job->only->id);
	return distance ? *distance : p->measures.by_digest[job->only->id];
}

/* By which of the pairs of two lists is the best; a larger one is better. */
static int rank(const struct compare_job *job, const struct pair *p)
{
	const int number = number_of(job, p);
	int best = -1, id;

	if (job->only && number >= 0)
		return distance_of(&p->measures, job->only->id) ? -number :
								  number;
	if (job->only)
		return INT_MIN;
	for (id = 0; id < DIGEST_COUNT; id++)
		if (p->measures.by_digest[id] > best)
			best = p->measures.by_digest[id];
	/* Some measures alone give no score. */
	return 1000 * number + best;
}

/* Every digest of one side with every one of the other. */
static int compute_best(struct compare_job *job, struct pair *best)
{
	const struct operands *a = &job->lists[0], *b = &job->lists[1];
	struct pair p = { 0 };
	size_t i, j;
	int err;

	for (i = 0; i < a->count; i++)
		for (j = 0; j < b->count; j++) {
			p.sides[0] = &a->all[i];
			p.sides[1] = &b->all[j];
			err = compute(job, &p);
			if (err)
				return err;
			if ((!i && !j) || rank(job, &p) > rank(job, best))
				*best = p;
		}
	return 0;
}

/* ---- printing ---- */

/* A row of the text, without its end, or a key of the JSON. */
static void put(json_t *to, const char *name, int value)
{
	if (to)
		(void)json_object_set_new(to, name,
					  value < 0 ? json_null() :
						      json_integer(value));
	else if (value < 0)
		printf("%-8s   -", name);
	else
		printf("%-8s %3d", name, value);
}

/* Of a list the digest that counted. */
static void put_name(const struct compare_job *job, const struct pair *p,
		     int side, json_t *to)
{
	const size_t count = job->lists[side].count;

	if (to)
		(void)json_set_path(to, side ? "b" : "a", job->paths[side]);
	if (count < 2)
		return;
	if (to) {
		(void)json_set_path(to, side ? "b_best" : "a_best",
				    p->sides[side]->name);
		return;
	}
	printf("%-8s     ", side ? "b" : "a");
	utf8_print_safe(stdout, p->sides[side]->name);
	printf(", the best of %zu\n", count);
}

static int print_measures(const struct compare_job *job, const struct pair *p)
{
	const struct measures *m = &p->measures;
	const uint32_t always = job->json ? ~DIGEST_EXCHANGE : DIGEST_DEFAULT;
	json_t *to = job->json ? json_object() : NULL;
	int id;

	if (job->json && !to)
		return -ENOMEM;
	put_name(job, p, 0, to);
	put_name(job, p, 1, to);
	put(to, "score", p->score);
	if (!to)
		puts(p->by == SUBJECT_TEXT ? "  by text" : "");
	else
		(void)json_object_set_new(
			to, "by", json_string(subject_part_names[p->by]));
	for (id = 0; id < DIGEST_COUNT; id++) {
		const int *distance = to ? NULL : distance_of(m, id);

		if (m->by_digest[id] < 0 && !(always & DIGEST_BIT(id)) &&
		    !(distance && *distance >= 0))
			continue;
		put(to, digest_table[id]->name, m->by_digest[id]);
		if (to)
			continue;
		if (id == DIGEST_SIMHASH && m->distance >= 0)
			printf("  distance %d of 64 bits", m->distance);
		if (id == DIGEST_RDC && m->matches >= 0)
			printf("  %d of 16 traits equal", m->matches);
		if (distance && *distance >= 0)
			printf("  distance %d", *distance);
		putchar('\n');
	}
	if (!to)
		return EXIT_OK;
	if (m->tlsh >= 0)
		put(to, "tlsh_distance", m->tlsh);
	if (m->pdq >= 0)
		put(to, "pdq_distance", m->pdq);
	put(to, "simhash_distance", m->distance);
	put(to, "rdc_matches", m->matches);
	return cli_print_json(to);
}

/* ---- the command ---- */

static struct compare_job compare_job;

static const char *measure_name(size_t i)
{
	return i ? digest_name(i - 1) : "score";
}

/* Only what is needed is computed: of what is no default, what the other side
 * has. */
static int run(const struct command *self, char **paths)
{
	struct compare_job *job = self->job;
	struct operands *lists = job->lists;
	uint32_t set = DIGEST_DEFAULT;
	struct pair best;
	int side, number, err = 0;
	size_t i;

	job->paths = paths;
	job->only = job->measure ? digest_find(job->measure) : NULL;
	if (job->measure && !job->only && strcmp(job->measure, "score") != 0)
		return options_complain_value(self, "measure", job->measure,
					      measure_name);
	if (!strcmp(paths[0], "-") && !strcmp(paths[1], "-"))
		return cli_usage_error(self, "standard input can be only one "
					     "of them");
	for (side = 0; side < 2 && !err; side++) {
		err = operands_look(paths[side], &lists[side]);
		for (i = 0; i < lists[side].count; i++)
			set |= lists[side].all[i].digests.set;
	}
	if (!err)
		err = reader_init(&job->reader,
				  job->only ? DIGEST_BIT(job->only->id) : set);
	for (side = 0; side < 2 && !err; side++) {
		if (lists[side].all[0].is_content)
			err = reader_digest_named(&job->reader, paths[side],
						  !job->only,
						  &lists[side].all[0].digests);
		if (err)
			return cli_complain_errno(paths[side], err);
	}
	if (err)
		return err;
	err = compute_best(job, &best);
	if (err)
		return cli_complain_errno(NULL, err);
	if (!job->measure)
		return print_measures(job, &best);
	number = number_of(job, &best);
	if (number < 0)
		return cli_complain(NULL, "no %s on both sides", job->measure);
	printf("%d\n", number);
	return EXIT_OK;
}

static const struct option_row options[] = {
	{ "measure", 'm', "NAME",
	  "only that number; tlsh and pdq are distances",
	  OPTION_TEXT(struct compare_job, measure), .value = measure_name },
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
