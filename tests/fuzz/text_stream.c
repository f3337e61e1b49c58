/* SPDX-License-Identifier: Apache-2.0 */
#include "core/digest/text/text.h"

#include "tests/fuzz/fuzz.h"
#include "tests/support/text_model.h"

static struct text_stream stream;

static void update(void *arg, const void *data, size_t len)
{
	text_stream_update(arg, data, len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct fuzz f = fuzz_begin(data, len);
	struct model_text want = model_text_of(f.content);
	struct taken_text have = { 0 };
	bool is_text;

	text_stream_begin(&stream, take_text, &have);
	fuzz_feed(&f, update, &stream);
	is_text = text_stream_end(&stream);
	assert_true(texts_match(&want, is_text, &have));
	free(want.text.data);
	free(have.data);
	fuzz_end(&f);
	return 0;
}
