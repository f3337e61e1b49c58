/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"
#include "core/base/text.h"
#include "core/act/report/report_impl.h"

/* The page: template.html, in which {{NAME}} stands for a value. */

/*
 * The files of the page.  The assembler reads them into the program, so the
 * build needs no tool but the compiler; the Makefile says that this file
 * depends on them.  REPORT_D3 is the folder of Debian's packages node-d3-*.
 */
#define ASSET(name, path)                                               \
	__asm__(".pushsection .rodata\n"                                \
		".globl report_" #name "_start, report_" #name "_end\n" \
		"report_" #name "_start:\n"                             \
		".incbin \"" path "\"\n"                                \
		"report_" #name "_end:\n"                               \
		".byte 0\n"                                             \
		".popsection\n");                                       \
	extern const char report_##name##_start[], report_##name##_end[]

struct asset {
	const char *start, *end;
};

#define BOUNDS(name)                                       \
	{                                                  \
		report_##name##_start, report_##name##_end \
	}

ASSET(html, "core/act/report/template.html");
ASSET(css, "core/act/report/page.css");
ASSET(bsd, "core/act/report/d3.licence");
ASSET(d3_array, REPORT_D3 "/d3-array/dist/d3-array.min.js");
ASSET(d3_hierarchy, REPORT_D3 "/d3-hierarchy/dist/d3-hierarchy.min.js");
ASSET(format, "core/act/report/format.js");
ASSET(model, "core/act/report/model.js");
ASSET(filter, "core/act/report/filter.js");
ASSET(treemap, "core/act/report/treemap.js");
ASSET(histogram, "core/act/report/histogram.js");
ASSET(rows, "core/act/report/rows.js");
ASSET(groups, "core/act/report/groups.js");
ASSET(lists, "core/act/report/lists.js");
ASSET(chosen, "core/act/report/chosen.js");
ASSET(main, "core/act/report/main.js");

static const struct asset template_html = BOUNDS(html);
static const struct asset style = BOUNDS(css);
static const struct asset licence = BOUNDS(bsd);

/* In their order, each an element of its own. */
static const struct asset scripts[] = {
	BOUNDS(d3_array),  BOUNDS(d3_hierarchy), BOUNDS(format),
	BOUNDS(model),     BOUNDS(filter),       BOUNDS(treemap),
	BOUNDS(histogram), BOUNDS(rows),         BOUNDS(groups),
	BOUNDS(lists),     BOUNDS(chosen),       BOUNDS(main),
};

enum { SCRIPTS = sizeof(scripts) / sizeof(scripts[0]) };

struct page {
	const struct report *report;
	const struct report_about *about;
	struct buf out;
	int err; /* the first one; nothing is added after it */
};

static void put(struct page *p, const char *data, size_t len)
{
	if (!p->err)
		p->err = buf_append(&p->out, data, len);
}

static void put_text(struct page *p, const char *text)
{
	put(p, text, strlen(text));
}

static void put_asset(struct page *p, const struct asset *a)
{
	put(p, a->start, (size_t)(a->end - a->start));
}

/* ---- text in HTML ---- */

static bool is_harmless(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || strchr(" -./:;%,_", c);
}

/* Bytes of any kind as text.  In a text that is not UTF-8, each byte above 127
 * becomes U+FFFD.  A control character becomes a space. */
static void put_escaped(struct page *p, const char *text)
{
	json_t *valid = json_string(text);
	bool is_utf8 = valid != NULL;
	char code[16];

	json_decref(valid);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		(void)snprintf(code, sizeof(code), "&#%d;",
			       c < 32 || c == 127 ? ' ' : c);
		if (is_harmless(c) || (c > 127 && is_utf8))
			put(p, text, 1);
		else
			put_text(p, c > 127 ? "\xef\xbf\xbd" : code);
	}
}

static void put_number(struct page *p, uint64_t number)
{
	char digits[TEXT_NUMBER];
	size_t len, i;

	len = (size_t)snprintf(digits, sizeof(digits), "%llu",
			       (unsigned long long)number);
	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			put_text(p, ",");
		put(p, &digits[i], 1);
	}
}

static void put_size(struct page *p, uint64_t bytes)
{
	char text[TEXT_SIZE_ROOM];

	put_text(p, text_format_size((double)bytes, TEXT_UNITS_FULL, text));
}

/* ---- values ---- */

/* For the Content Security Policy. */
static void put_hash(struct page *p, const struct asset *a)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	unsigned char text[4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1];

	(void)SHA256((const unsigned char *)a->start,
		     (size_t)(a->end - a->start), hash);
	(void)EVP_EncodeBlock(text, hash, sizeof(hash));
	put_text(p, " 'sha256-");
	put_text(p, (const char *)text);
	put_text(p, "'");
}

/* The options of kin dedup that keep what the report says, as JSON. */
static void put_keep(struct page *p)
{
	static const char *const orders[KEEP_ORDERS] = {
		[KEEP_NEWEST] = "newest", [KEEP_SHORTEST] = "shortest"
	};
	const struct groups_wish *wish = p->about->wish;
	json_t *options = json_array(), *directory;
	char *text;
	size_t i;

	if (wish && orders[wish->order])
		(void)json_array_append_new(options,
					    json_string(orders[wish->order]));
	for (i = 0; wish && i < wish->keep_count; i++) {
		directory =
			json_sprintf("%s/%s", p->about->root, wish->keep[i]);
		/* That is not UTF-8: chosen.js says no command then. */
		(void)json_array_append_new(options, directory ? directory :
								 json_null());
	}
	text = json_dumps(options, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (text)
		put_escaped(p, text);
	else
		p->err = -ENOMEM;
	free(text);
	json_decref(options);
}

static void put_about(struct page *p, const char *name)
{
	const struct report_about *about = p->about;
	const char *root = about->root;
	char text[64] = "";
	struct tm tm;

	if (!strcmp(name, "title") || (!strcmp(name, "place") && !root)) {
		put_escaped(p, root ? root : "a list of groups");
	} else if (!strcmp(name, "place")) {
		put_text(p, "<bdi class=\"path\">");
		put_escaped(p, root);
		put_text(p, "</bdi>");
	} else if (!strcmp(name, "root")) {
		for (; root && *root; root++) {
			hex_encode((const uint8_t *)root, 1, text);
			put_text(p, text);
		}
	} else if (!strcmp(name, "made")) {
		if (localtime_r(&about->made, &tm))
			(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M",
				       &tm);
		put_text(p, text);
	} else if (!strcmp(name, "notice") && about->notice) {
		put_text(p, "<p class=\"notice\" role=\"note\">");
		put_escaped(p, about->notice);
		put_text(p, "</p>");
	} else if (!strcmp(name, "threshold") && about->threshold) {
		(void)snprintf(text, sizeof(text),
			       "<li>at least %d %% alike</li>",
			       about->threshold);
		put_text(p, text);
	} else if (!strcmp(name, "source")) {
		put_text(p, about->from_mount ? "mount" : "list");
	} else if (!strcmp(name, "version")) {
		put_text(p, KINFS_VERSION);
	} else if (!strcmp(name, "keep")) {
		put_keep(p);
	}
}

static void put_value(struct page *p, const char *name)
{
	const struct report *r = p->report;
	double exact = (double)r->exact_bytes, near = (double)r->near_bytes;
	size_t i;

	if (!strcmp(name, "style")) {
		put_asset(p, &style);
	} else if (!strcmp(name, "licence")) {
		put_asset(p, &licence);
	} else if (!strcmp(name, "policy")) {
		put_text(p, "default-src 'none'; style-src");
		put_hash(p, &style);
		put_text(p, "; script-src");
		for (i = 0; i < SCRIPTS; i++)
			put_hash(p, &scripts[i]);
		put_text(p, "; base-uri 'none'; form-action 'none'");
	} else if (!strcmp(name, "scripts")) {
		for (i = 0; i < SCRIPTS; i++) {
			put_text(p, "<script>");
			put_asset(p, &scripts[i]);
			put_text(p, "</script>\n");
		}
	} else if (!strcmp(name, "data")) {
		p->err = p->err ? p->err : report_append_data(r, &p->out);
	} else if (!strcmp(name, "exact")) {
		put_size(p, r->exact_bytes);
	} else if (!strcmp(name, "near")) {
		put_size(p, r->near_bytes);
	} else if (!strcmp(name, "groups")) {
		put_number(p, r->group_count);
	} else if (!strcmp(name, "files")) {
		put_number(p, r->file_count);
	} else if (!strcmp(name, "share")) { /* exact ones of a thousand */
		put_number(p, exact > 0 ? (uint64_t)(1000 * exact /
						     (exact + near)) :
					  0);
	} else {
		put_about(p, name);
	}
}

int report_write(struct report *r, const struct report_about *about, FILE *out)
{
	struct page p = { .report = r, .about = about };
	const char *at = template_html.start, *end = template_html.end;
	const char *open, *close;
	char name[16];

	while ((open = memmem(at, (size_t)(end - at), "{{", 2))) {
		close = memmem(open, (size_t)(end - open), "}}", 2);
		if (!close)
			break;
		put(&p, at, (size_t)(open - at));
		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)(close - open) - 2, open + 2);
		put_value(&p, name);
		at = close + 2;
	}
	put(&p, at, (size_t)(end - at));
	errno = 0;
	if (!p.err && fwrite(p.out.data, 1, p.out.len, out) != p.out.len)
		p.err = errno ? -errno : -EIO;
	buf_release(&p.out);
	return p.err;
}
