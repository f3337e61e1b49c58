/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <string.h>

#include "core/base/text.h"
#include "core/act/report/report_impl.h"

/* The page: template.html, in which {{NAME}} stands for the output of a
 * function in the table at the end of this file. */

struct page {
	struct report *report;
	const struct report_about *about;
	FILE *out;
};

int report_put(FILE *out, const void *data, size_t len)
{
	errno = 0;
	if (fwrite(data, 1, len, out) == len)
		return 0;
	return errno ? -errno : -EIO;
}

static int put(const struct page *p, const char *data, size_t len)
{
	return report_put(p->out, data, len);
}

static int put_text(const struct page *p, const char *text)
{
	return put(p, text, strlen(text));
}

static int put_asset(const struct page *p, const struct report_asset *a)
{
	return put(p, a->start, (size_t)(a->end - a->start));
}

/* ---- text in HTML ---- */

static bool is_harmless(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || strchr(" -./:;%,_", c);
}

static int put_code(const struct page *p, unsigned char c)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "&#%d;", c);
	return put_text(p, text);
}

/* Bytes of any kind as text.  In a text that is not UTF-8, each byte above 127
 * becomes U+FFFD.  A control character becomes a space. */
static int put_escaped(const struct page *p, const char *text)
{
	json_t *valid = json_string(text);
	bool is_utf8 = valid != NULL;
	int err = 0;

	json_decref(valid);
	for (; *text && !err; text++) {
		unsigned char c = (unsigned char)*text;

		if (is_harmless(c) || (c > 127 && is_utf8))
			err = put(p, text, 1);
		else if (c > 127)
			err = put_text(p, "\xef\xbf\xbd");
		else
			err = put_code(p, c < 32 || c == 127 ? ' ' : c);
	}
	return err;
}

static int put_number(const struct page *p, uint64_t number)
{
	char digits[32], text[48];
	size_t len, i, at = 0;

	len = (size_t)snprintf(digits, sizeof(digits), "%llu",
			       (unsigned long long)number);
	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	return put(p, text, at);
}

static int put_size(const struct page *p, uint64_t bytes)
{
	char text[TEXT_SIZE_ROOM];

	return put_text(p,
			text_format_size((double)bytes, TEXT_UNITS_FULL, text));
}

/* ---- Content Security Policy ---- */

static int put_hash(const struct page *p, const struct report_asset *a)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	unsigned char text[4 * ((SHA256_DIGEST_LENGTH + 2) / 3) + 1];
	char source[sizeof(text) + 16];

	(void)SHA256((const unsigned char *)a->start,
		     (size_t)(a->end - a->start), hash);
	(void)EVP_EncodeBlock(text, hash, sizeof(hash));
	(void)snprintf(source, sizeof(source), " 'sha256-%s'",
		       (const char *)text);
	return put_text(p, source);
}

static int put_policy(const struct page *p)
{
	int err = put_text(p, "default-src 'none'; style-src");
	size_t i;

	if (!err)
		err = put_hash(p, &report_style);
	if (!err)
		err = put_text(p, "; script-src");
	for (i = 0; i < REPORT_SCRIPTS && !err; i++)
		err = put_hash(p, &report_scripts[i]);
	return err ? err : put_text(p, "; base-uri 'none'; form-action 'none'");
}

static int put_scripts(const struct page *p)
{
	size_t i;
	int err = 0;

	for (i = 0; i < REPORT_SCRIPTS && !err; i++) {
		err = put_text(p, "<script>");
		if (!err)
			err = put_asset(p, &report_scripts[i]);
		if (!err)
			err = put_text(p, "</script>\n");
	}
	return err;
}

static int put_style(const struct page *p)
{
	return put_asset(p, &report_style);
}

static int put_licence(const struct page *p)
{
	return put_asset(p, &report_licence);
}

static int put_data(const struct page *p)
{
	return report_write_data(p->report, p->out);
}

/* ---- the subject of the report ---- */

static int put_place(const struct page *p)
{
	int err;

	if (!p->about->root)
		return put_text(p, "a list of groups");
	err = put_text(p, "<bdi class=\"path\">");
	if (!err)
		err = put_escaped(p, p->about->root);
	return err ? err : put_text(p, "</bdi>");
}

static int put_title(const struct page *p)
{
	return p->about->root ? put_escaped(p, p->about->root) :
				put_text(p, "a list of groups");
}

static int put_made(const struct page *p)
{
	char text[64] = "";
	struct tm tm;

	if (localtime_r(&p->about->made, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm);
	return put_text(p, text);
}

static int put_threshold(const struct page *p)
{
	char text[64];

	if (!p->about->threshold)
		return 0;
	(void)snprintf(text, sizeof(text), "<li>at least %d %% alike</li>",
		       p->about->threshold);
	return put_text(p, text);
}

static int put_notice(const struct page *p)
{
	int err;

	if (!p->about->notice)
		return 0;
	err = put_text(p, "<p class=\"notice\" role=\"note\">");
	if (!err)
		err = put_escaped(p, p->about->notice);
	return err ? err : put_text(p, "</p>");
}

static int put_source(const struct page *p)
{
	return put_text(p, p->about->from_mount ? "mount" : "list");
}

static int put_version(const struct page *p)
{
	return put_text(p, KINFS_VERSION);
}

/* ---- totals ---- */

static int put_exact(const struct page *p)
{
	return put_size(p, p->report->exact_bytes);
}

static int put_near(const struct page *p)
{
	return put_size(p, p->report->near_bytes);
}

static int put_groups(const struct page *p)
{
	return put_number(p, p->report->member_counts.count);
}

static int put_files(const struct page *p)
{
	return put_number(p, p->report->places.count);
}

/* The exact part of a thousand. */
static int put_share(const struct page *p)
{
	double all =
		(double)p->report->exact_bytes + (double)p->report->near_bytes;
	double exact = (double)p->report->exact_bytes;

	return put_number(p, all > 0 ? (uint64_t)(1000 * exact / all) : 0);
}

/* ---- the template ---- */

static const struct filler {
	const char *name;
	int (*put)(const struct page *p);
} fillers[] = {
	{ "policy", put_policy },   { "style", put_style },
	{ "scripts", put_scripts }, { "data", put_data },
	{ "licence", put_licence }, { "title", put_title },
	{ "place", put_place },     { "made", put_made },
	{ "notice", put_notice },   { "threshold", put_threshold },
	{ "source", put_source },   { "version", put_version },
	{ "exact", put_exact },     { "near", put_near },
	{ "groups", put_groups },   { "files", put_files },
	{ "share", put_share },
};

static int fill(const struct page *p, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++)
		if (strlen(fillers[i].name) == len &&
		    !memcmp(fillers[i].name, name, len))
			return fillers[i].put(p);
	return -EINVAL;
}

int report_write(struct report *r, const struct report_about *about, FILE *out)
{
	const struct page p = { .report = r, .about = about, .out = out };
	const char *at = report_template.start, *end = report_template.end;
	const char *open, *close;
	int err = 0;

	while (!err && (open = memmem(at, (size_t)(end - at), "{{", 2))) {
		close = memmem(open, (size_t)(end - open), "}}", 2);
		if (!close)
			return -EINVAL;
		err = put(&p, at, (size_t)(open - at));
		if (!err)
			err = fill(&p, open + 2, (size_t)(close - open) - 2);
		at = close + 2;
	}
	return err ? err : put(&p, at, (size_t)(end - at));
}
