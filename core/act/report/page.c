/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

#include "core/act/report/report.h"

/*
 * The page is template.html, in which {{NAME}} stands for an asset, {{#NAME}} for
 * its hash, and {{data}} for what the report tells.
 *
 * The assembler reads the assets into the program, so the build needs no tool but
 * the compiler; the Makefile says that this file depends on them.  REPORT_D3 is
 * the folder of Debian's packages node-d3-*.
 */
#define ASSET(name, files)                                                  \
	__asm__(".pushsection .rodata\n"                                    \
		".globl report_" #name "_start, report_" #name "_end\n"     \
		"report_" #name "_start:\n" files "report_" #name "_end:\n" \
		".byte 0\n"                                                 \
		".popsection\n");                                           \
	extern const char report_##name##_start[], report_##name##_end[]

#define FROM(path) ".incbin \"" path "\"\n"
#define OURS(name) FROM("core/act/report/" name)

ASSET(style, OURS("page.css"));
ASSET(licence, OURS("d3.licence"));
ASSET(d3, FROM(REPORT_D3 "/d3-array/dist/d3-array.min.js")
		  FROM(REPORT_D3 "/d3-hierarchy/dist/d3-hierarchy.min.js"));
ASSET(page,
      OURS("format.js") OURS("model.js") OURS("filter.js") OURS("treemap.js")
	      OURS("histogram.js") OURS("rows.js") OURS("groups.js")
		      OURS("lists.js") OURS("chosen.js") OURS("main.js"));
ASSET(html, OURS("template.html"));

#define ROW(name)                                                 \
	{                                                         \
#name, report_##name##_start, report_##name##_end \
	}

static const struct asset {
	const char *name, *start, *end;
} assets[] = { ROW(style), ROW(licence), ROW(d3), ROW(page) },
  template = ROW(html);

/* For the Content Security Policy. */
static int put_hash(struct buf *out, const struct asset *a)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	unsigned char text[4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1];

	(void)SHA256((const unsigned char *)a->start,
		     (size_t)(a->end - a->start), hash);
	(void)EVP_EncodeBlock(text, hash, sizeof(hash));
	return buf_append_format(out, "'sha256-%s'", (const char *)text);
}

static int put_value(struct report *r, const struct groups *g, const char *name,
		     struct buf *out)
{
	const bool hash = *name == '#';
	size_t i;

	for (i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
		if (!strcmp(assets[i].name, name + hash))
			return hash ? put_hash(out, &assets[i]) :
				      buf_append(out, assets[i].start,
						 (size_t)(assets[i].end -
							  assets[i].start));
	return report_append_data(r, g, out);
}

int report_page(struct report *r, const struct groups *g, struct buf *out)
{
	const char *at = template.start, *end = template.end;
	const char *open, *close;
	char name[16];
	int err = 0;

	while (!err && (open = memmem(at, (size_t)(end - at), "{{", 2)) &&
	       (close = memmem(open, (size_t)(end - open), "}}", 2))) {
		err = buf_append(out, at, (size_t)(open - at));
		(void)snprintf(name, sizeof(name), "%.*s",
			       (int)(close - open) - 2, open + 2);
		if (!err)
			err = put_value(r, g, name, out);
		at = close + 2;
	}
	return err ? err : buf_append(out, at, (size_t)(end - at));
}
