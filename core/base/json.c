/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/json.h"

#include <jansson.h>

#include "core/base/buf.h"

json_t *json_text(const char *bytes)
{
	json_t *text = json_string(bytes);
	struct buf b = { 0 };
	const char *p;

	if (text)
		return text;
	for (p = bytes; *p; p++)
		if (buf_append(&b, (unsigned char)*p < 128 ? p : "\xef\xbf\xbd",
			       (unsigned char)*p < 128 ? 1 : 3))
			break;
	text = json_string(b.data ? b.data : "");
	buf_release(&b);
	return text;
}
