/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/extract.h"

static const char *const status_names[EXTRACT_STATUS_COUNT] = {
	[EXTRACT_OK] = "ok",
	[EXTRACT_NO_TEXT] = "none",
	[EXTRACT_ENCRYPTED] = "encrypted",
	[EXTRACT_DAMAGED] = "damaged",
	[EXTRACT_LIMIT] = "limit",
	[EXTRACT_UNSUPPORTED] = "unsupported",
};

static const char *const kind_names[EXTRACT_KIND_COUNT] = {
	[EXTRACT_UNKNOWN] = "unknown", [EXTRACT_TEXT] = "text",
	[EXTRACT_HTML] = "html",       [EXTRACT_RTF] = "rtf",
	[EXTRACT_MAIL] = "mail",       [EXTRACT_PDF] = "pdf",
	[EXTRACT_DOCX] = "docx",       [EXTRACT_XLSX] = "xlsx",
	[EXTRACT_PPTX] = "pptx",       [EXTRACT_ODF] = "odf",
	[EXTRACT_EPUB] = "epub",       [EXTRACT_OLE] = "ole",
	[EXTRACT_UNREAD] = "other",    [EXTRACT_JPEG] = "jpeg",
	[EXTRACT_PNG] = "png",         [EXTRACT_WEBP] = "webp",
	[EXTRACT_GIF] = "gif",         [EXTRACT_ZIP] = "zip",
	[EXTRACT_TAR] = "tar",         [EXTRACT_7Z] = "7z",
	[EXTRACT_GZIP] = "gzip",       [EXTRACT_XZ] = "xz",
	[EXTRACT_ZSTD] = "zstd",       [EXTRACT_BZIP2] = "bzip2",
};

static const char *const flag_names[EXTRACT_FLAGS] = {
	"guessed", "partial", "degraded", "plain", "died", "caption",
};

const char *extract_status_name(enum extract_status status)
{
	return status_names[status];
}

const char *extract_kind_name(enum extract_kind kind)
{
	return kind_names[kind];
}

const char *extract_flag_name(unsigned bit)
{
	return flag_names[bit];
}
