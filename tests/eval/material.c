/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/eval/material.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/bytes.h"
#include "tests/eval/eval.h"

/* ---- writing up to a length ---- */

struct writer {
	struct bytes to; /* len: written so far */
	size_t size;
	uint64_t state;
};

static bool is_full(const struct writer *w)
{
	return w->to.len == w->size;
}

static void write_bytes(struct writer *w, const void *data, size_t len)
{
	size_t room = w->size - w->to.len;

	if (len > room)
		len = room;
	memcpy(w->to.data + w->to.len, data, len);
	w->to.len += len;
}

static void write_text(struct writer *w, const char *text)
{
	write_bytes(w, text, strlen(text));
}

/* ---- words ---- */

#define WORDS 16384
#define WORD_MAX 16

struct vocabulary {
	char word[WORDS][WORD_MAX];
};

static struct vocabulary *vocabulary_new(uint64_t seed)
{
	static const char consonants[] = "bcdfghklmnprstvz";
	static const char vowels[] = "aeiou";
	struct vocabulary *v = allocate(sizeof(*v));
	size_t i, j, len;
	char *word;

	for (i = 0; i < WORDS; i++) {
		word = v->word[i];
		len = 2 + draw_below(&seed, 10);
		for (j = 0; j < len; j++)
			word[j] = j % 2 ? vowels[draw_below(&seed, 5)] :
					  consonants[draw_below(&seed, 16)];
	}
	return v;
}

/* Few words make most of a text. */
static const char *draw_word(const struct vocabulary *v, uint64_t *state)
{
	double x = (double)(draw(state) >> 11) / (double)(UINT64_C(1) << 53);

	return v->word[(size_t)(pow(x, 3) * (WORDS - 1))];
}

static void write_sentences(struct writer *w)
{
	struct vocabulary *v = vocabulary_new(11);
	size_t column = 0, left = 0;
	const char *word;

	while (!is_full(w)) {
		word = draw_word(v, &w->state);
		if (!left)
			left = 4 + draw_below(&w->state, 20);
		write_text(w, word);
		column += strlen(word) + 1;
		if (!--left)
			write_text(w, draw_below(&w->state, 8) ? "." : ".\n");
		write_text(w, column > 70 ? "\n" : " ");
		if (column > 70)
			column = 0;
	}
	free(v);
}

/* ---- functions ---- */

static void write_statement(struct writer *w, const struct vocabulary *v)
{
	/* A dot becomes a word, a number sign a number. */
	static const char *const shapes[] = {
		"\t. = .(., .);\n",
		"\tif (. < #)\n\t\treturn -.;\n",
		"\tfor (i = 0; i < .; i++)\n\t\t.[i] = #;\n",
		"\t.->. = #;\n",
		"\terr = .(&., .->.);\n\tif (err)\n\t\tgoto out;\n",
		"\t/* . . . . */\n",
		"\tmemset(&., 0, sizeof(.));\n",
	};
	const char *shape = shapes[draw_below(&w->state, 7)];
	char number[24];

	for (; *shape; shape++) {
		if (*shape == '.') {
			write_text(w, draw_word(v, &w->state));
		} else if (*shape == '#') {
			(void)snprintf(number, sizeof(number), "%zu",
				       draw_below(&w->state, 4096));
			write_text(w, number);
		} else {
			write_bytes(w, shape, 1);
		}
	}
}

static void write_functions(struct writer *w)
{
	struct vocabulary *v = vocabulary_new(12);
	size_t left;

	while (!is_full(w)) {
		write_text(w, "static int ");
		write_text(w, draw_word(v, &w->state));
		write_text(w, "_");
		write_text(w, draw_word(v, &w->state));
		write_text(w, "(struct ");
		write_text(w, draw_word(v, &w->state));
		write_text(w, " *p, size_t len)\n{\n\tint err = 0;\n\n");
		for (left = 1 + draw_below(&w->state, 12); left; left--)
			write_statement(w, v);
		write_text(w, "out:\n\treturn err;\n}\n\n");
	}
	free(v);
}

/* ---- binary ---- */

static void write_records(struct writer *w)
{
	uint8_t record[48];
	uint32_t number;

	for (number = 0; !is_full(w); number++) {
		memset(record, 0, sizeof(record));
		store_le32(record, number);
		store_le32(record + 4, (uint32_t)draw_below(&w->state, 16));
		store_le64(record + 8, draw(&w->state));
		store_le32(record + 16, (uint32_t)draw_below(&w->state, 1000));
		store_le16(record + 28, (uint16_t)draw(&w->state));
		store_le32(record + 40, (uint32_t)draw_below(&w->state, 4));
		write_bytes(w, record, sizeof(record));
	}
}

static void write_random(struct writer *w)
{
	uint8_t value[8];

	while (!is_full(w)) {
		store_le64(value, draw(&w->state));
		write_bytes(w, value, sizeof(value));
	}
}

/* ---- what repeats itself ---- */

/* $ becomes a word, # a number. */
static void write_shape(struct writer *w, const struct vocabulary *v,
			const char *shape)
{
	char number[24];
	size_t len;

	for (; *shape; shape += len) {
		len = strcspn(shape, "$#");
		write_bytes(w, shape, len);
		if (!shape[len])
			break;
		(void)snprintf(number, sizeof(number), "%zu",
			       draw_below(&w->state, 4096));
		write_text(w, shape[len] == '#' ? number :
						  draw_word(v, &w->state));
		len++;
	}
}

/* One of count shapes after the other, each as likely. */
static void write_shapes(struct writer *w, const char *const *shapes,
			 size_t count)
{
	struct vocabulary *v = vocabulary_new(13);

	while (!is_full(w))
		write_shape(w, v, shapes[draw_below(&w->state, count)]);
	free(v);
}

static void write_json(struct writer *w)
{
	static const char *const shapes[] = {
		"{\"id\":#,\"name\":\"$ $\",\"active\":true,\"price\":#.#,"
		"\"tags\":[\"$\",\"$\"],\"owner\":{\"first\":\"$\",\"last\":"
		"\"$\"},\"created_at\":\"2021-01-01T00:00:00Z\"},\n",
		"{\"id\":#,\"name\":\"$\",\"active\":false,\"price\":null,"
		"\"tags\":[],\"owner\":{\"first\":\"$\",\"last\":\"$\"},"
		"\"created_at\":\"2021-01-01T00:00:00Z\"},\n",
	};

	write_shapes(w, shapes, 2);
}

static void write_svg(struct writer *w)
{
	static const char *const shapes[] = {
		"<rect x=\"#\" y=\"#\" width=\"#\" height=\"10\" "
		"style=\"fill:black;stroke-width:1px\"/>\n",
		"<path d=\"M#,# L#,# z\" class=\"line\" fill=\"none\" "
		"stroke=\"black\"/>\n",
		"<text x=\"#\" y=\"#\" font-family=\"sans-serif\" "
		"font-size=\"12px\">$</text>\n",
	};

	write_shapes(w, shapes, 3);
}

static void write_script(struct writer *w)
{
	static const char *const shapes[] = {
		"function a#(t,e){return t.$.call(this,e)||this}",
		"Object.defineProperty(e,\"__esModule\",{value:!0}),"
		"e.default=void 0;var r=n(#),o=n(#);",
		"t.prototype.$=function(){return this.state.$};",
		"if(null==t)throw new TypeError(\"Cannot call a class as a "
		"function\");",
		"for(var n=0;n<e.length;n++){var r=e[n];r.$(t,#)}",
		"},#:function(t,e,n){\"use strict\";",
	};

	write_shapes(w, shapes, 6);
}

/* ---- materials ---- */

static const struct {
	const char *name;
	void (*write)(struct writer *w);
} classes[GENERATED_CLASSES] = {
	{ "text", write_sentences },  { "source", write_functions },
	{ "records", write_records }, { "random", write_random },
	{ "json", write_json },       { "svg", write_svg },
	{ "script", write_script },
};

struct material material_generate(size_t class, uint64_t seed, size_t size)
{
	struct writer w = { .to = { .data = allocate(size) },
			    .size = size,
			    .state = seed };

	classes[class].write(&w);
	return (struct material){ .name = classes[class].name, .pool = w.to };
}

void material_release(struct material *m)
{
	free(m->pool.data);
	m->pool = (struct bytes){ 0 };
}

static size_t donor_start(const struct material *m)
{
	return m->pool.len - m->pool.len / 4;
}

bool material_cut(struct material *m, size_t len, struct bytes *out)
{
	if (!len || len > donor_start(m) - m->used)
		return false;
	*out = (struct bytes){ m->pool.data + m->used, len };
	m->used += len;
	return true;
}

struct bytes material_donor(const struct material *m)
{
	size_t start = donor_start(m);

	return (struct bytes){ m->pool.data + start, m->pool.len - start };
}
