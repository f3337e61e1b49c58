/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/eval/eval.h"
#include "tests/eval/licensed.h"
#include "tests/eval/list.h"
#include "tests/eval/own.h"
#include "tests/eval/passages.h"
#include "tests/eval/plan.h"
#include "tests/eval/report.h"
#include "tests/eval/reports.h"

/*
 * likeness: how well scores and listings agree with the truth.
 */

struct options {
	struct plan plan;
	const char *own;    /* directory of sources to edit, NULL: none */
	const char *list;   /* of files, NULL: none */
	const char *floors; /* file, NULL: none */
	const char *corpus; /* its name in the floors */
	size_t most;        /* files */
	size_t entries;     /* listed whose truth is looked at */
	bool fitting;       /* the other half */
	bool prints_figures;
	bool passages; /* nothing else */
};

static void usage(void)
{
	fputs("usage: likeness [--own DIR] [--list FILE] [--largest BYTES] [--bases N]\n"
	      "                [--edits N] [--files N] [--entries N]\n"
	      "                [--fitting] [--figures] [--passages] [--draw N]\n"
	      "                [--floors FILE --corpus NAME]\n",
	      stderr);
	exit(2);
}

static size_t number(const char *text)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (!*text || *end || *text == '-')
		usage();
	return (size_t)value;
}

static void set_option(struct options *o, int option)
{
	switch (option) {
	case 'o':
		o->own = optarg;
		break;
	case 'L':
		o->list = optarg;
		break;
	case 'l':
		o->plan.largest = number(optarg);
		break;
	case 'b':
		o->plan.bases = number(optarg);
		break;
	case 'e':
		o->plan.edits = number(optarg);
		break;
	case 'n':
		o->most = number(optarg);
		break;
	case 'N':
		o->entries = number(optarg);
		break;
	case 'f':
		o->floors = optarg;
		break;
	case 'c':
		o->corpus = optarg;
		break;
	case 'F':
		o->fitting = true;
		break;
	case 's':
		o->passages = true;
		break;
	case 'd':
		set_draw((unsigned)number(optarg));
		break;
	case 'p':
		o->prints_figures = true;
		break;
	default:
		usage();
	}
}

static void read_options(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{ "own", required_argument, NULL, 'o' },
		{ "list", required_argument, NULL, 'L' },
		{ "largest", required_argument, NULL, 'l' },
		{ "bases", required_argument, NULL, 'b' },
		{ "edits", required_argument, NULL, 'e' },
		{ "files", required_argument, NULL, 'n' },
		{ "entries", required_argument, NULL, 'N' },
		{ "floors", required_argument, NULL, 'f' },
		{ "corpus", required_argument, NULL, 'c' },
		{ "fitting", no_argument, NULL, 'F' },
		{ "figures", no_argument, NULL, 'p' },
		{ "passages", no_argument, NULL, 's' },
		{ "draw", required_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		set_option(o, option);
	if (optind != argc || !o->floors != !o->corpus)
		usage();
}

static void evaluate(struct report *r, size_t entries)
{
	struct {
		struct listing *listing;
		struct judge_rules rules;
	} listings[] = {
		{ &r->listings[0], { .relation = INDEX_ALIKE, 60 } },
		{ &r->listings[1], { .relation = INDEX_ALIKE, 20 } },
		{ &r->within, { .relation = INDEX_WITHIN, 60 } },
		{ &r->contains, { .relation = INDEX_CONTAINS, 60 } },
	};
	size_t i;

	r->ix = listing_index(r->corpus);
	pairs_add_kin(&r->pairs, r->corpus, r->held_out);
	for (i = 0; i < sizeof(listings) / sizeof(*listings); i++) {
		listing_init(listings[i].listing, r->corpus, r->ix,
			     &listings[i].rules, r->held_out);
		listing_sample(listings[i].listing, entries);
		pairs_add_listed(&r->pairs, listings[i].listing);
	}
	pairs_finish(&r->pairs, r->corpus, r->ix);
}

static void print_report(struct report *r)
{
	report_corpus(r);
	report_recall(r);
	report_entries(r);
	report_ranks(r);
	report_errors(r);
	report_shares(r);
	report_versions(r);
	report_parts(r);
	report_symmetry(r);
	report_reformatted(r);
}

static void release_report(struct report *r)
{
	size_t i;

	for (i = 0; i < LISTINGS; i++)
		listing_release(&r->listings[i]);
	listing_release(&r->within);
	listing_release(&r->contains);
	pairs_release(&r->pairs);
	figures_release(&r->figures);
	index_free(r->ix);
}

/* What is found goes on to larger ones. */
#define GENERATED_LARGEST (2 * MIB)
#define CLASSES (GENERATED_CLASSES + FOUND_CLASSES)

/* The material of the contents of a corpus; lives as long as that. */
struct sources {
	struct material materials[CLASSES], parts[CLASSES];
	struct list list;
	struct own own;
	struct licensed licensed;
};

static void sources_add(struct sources *s, struct corpus *c,
			const struct options *o)
{
	struct plan made = o->plan;
	size_t i;

	if (made.largest > GENERATED_LARGEST)
		made.largest = GENERATED_LARGEST;
	if (o->list)
		list_read(&s->list, o->list);
	list_add_files(&s->list, c);
	for (i = 0; i < GENERATED_CLASSES; i++) {
		s->materials[i] = material_generate(i, i, plan_bytes(&made));
		plan_material(c, &made, &s->materials[i]);
	}
	for (; i < CLASSES && o->list; i++) {
		s->materials[i] = material_collect(
			&s->list, i - GENERATED_CLASSES, plan_bytes(&o->plan));
		plan_material(c, &o->plan, &s->materials[i]);
	}
	if (o->own)
		own_add(&s->own, c, &o->plan, o->own);
	licensed_add(&s->licensed, c);
	for (i = 0; i < CLASSES && (i < GENERATED_CLASSES || o->list); i++) {
		if (i >= PLAIN_CLASSES && i < GENERATED_CLASSES)
			continue;
		s->parts[i] = i < GENERATED_CLASSES ?
				      material_generate(i, CLASSES + i,
							plan_parts_bytes()) :
				      material_collect(&s->list,
						       i - GENERATED_CLASSES,
						       plan_parts_bytes());
		plan_parts(c, &s->parts[i]);
	}
}

static void sources_release(struct sources *s)
{
	size_t i;

	for (i = 0; i < CLASSES; i++) {
		material_release(&s->materials[i]);
		material_release(&s->parts[i]);
	}
	list_release(&s->list);
	own_release(&s->own);
	licensed_release(&s->licensed);
}

int main(int argc, char **argv)
{
	struct options o = {
		.plan = { .largest = 2 * MIB, .bases = 12, .edits = 12 },
		.most = SIZE_MAX,
		.entries = 200000,
	};
	struct sources sources = { 0 };
	struct report r = { 0 };
	struct corpus c;
	bool kept = true;

	read_options(&o, argc, argv);
	corpus_init(&c, o.most);
	r.corpus = &c;
	r.held_out = !o.fitting;
	if (o.passages) {
		if (o.list)
			list_read(&sources.list, o.list);
	} else {
		sources_add(&sources, &c, &o);
		evaluate(&r, o.entries);
		print_report(&r);
	}
	passages_evaluate(o.list ? &sources.list : NULL, &r.figures);
	reports_evaluate(&r.figures);
	if (o.prints_figures)
		figures_print(&r.figures);
	if (o.floors)
		kept = floors_hold(o.floors, o.corpus, &r.figures);
	release_report(&r);
	corpus_release(&c);
	sources_release(&sources);
	return kept ? 0 : 1;
}
