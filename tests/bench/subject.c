/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/subject.h"

#include <stdlib.h>

#include "core/digest/fingerprint.h"
#include "tests/bench/bench.h"

/* What kinfs reads at a time; kin reads less. */
#define READ_BYTES (256 * KIB)

struct worker {
	const struct kernel_ops *ops;
	struct fingerprint *fp;
};

size_t subjects_list(struct subject subjects_out[MAX_SUBJECTS])
{
	size_t count = 0;
	int id;

	subjects_out[count++] = (struct subject){ "all", DIGEST_DEFAULT };
	for (id = 0; id < DIGEST_COUNT; id++)
		subjects_out[count++] =
			(struct subject){ digest_table[id]->name,
					  DIGEST_BIT(id) };
	return count;
}

struct worker *worker_new(const struct subject *subject,
			  const struct kernel_ops *ops)
{
	struct worker *w = allocate(sizeof(*w));

	kernel_use(ops);
	w->ops = ops;
	fail_errno(subject->name, fingerprint_new(subject->set, &w->fp));
	return w;
}

void worker_free(struct worker *w)
{
	fingerprint_free(w->fp);
	free(w);
}

void worker_begin(struct worker *w, uint64_t size)
{
	kernel_use(w->ops);
	fail_errno("begin",
		   fingerprint_begin_file(w->fp, "file", size, SIZE_MAX));
}

void worker_update(struct worker *w, const uint8_t *data, size_t len)
{
	fail_errno("update", fingerprint_update(w->fp, data, len));
}

void worker_final(struct worker *w, struct buf *text_out)
{
	struct digests d = { 0 };
	int id;

	fail_errno("final", fingerprint_final(w->fp, &d));
	for (id = 0; text_out && id < DIGEST_COUNT; id++) {
		if (!(d.set & DIGEST_BIT(id)))
			continue;
		fail_errno("text",
			   digest_format(&d, (enum digest_id)id, text_out));
		fail_errno("text", buf_append_text(text_out, "\n"));
	}
	digests_release(&d);
}

void worker_digest(struct worker *w, const uint8_t *data, size_t len,
		   struct buf *text_out)
{
	size_t part, size = len;

	worker_begin(w, size);
	for (; len > 0; data += part, len -= part) {
		part = len < READ_BYTES ? len : READ_BYTES;
		worker_update(w, data, part);
	}
	worker_final(w, text_out);
}
