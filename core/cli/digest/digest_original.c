/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cli/digest/digest_job.h"
#include "core/digest/rdc/rdc.h"
#include "core/digest/reference/rdc_signature.h"
#include "core/digest/reference/si2.h"
#include "core/digest/reference/sif_classic.h"

/* ---- the Similarity Index's SimHash ---- */

static int take_si2(void *arg, const void *data, size_t len)
{
	return si2_update(arg, data, len);
}

static int file_si2(const struct digest_job *job, struct reader *r, int fd,
		    const char *path, struct buf *out)
{
	struct si2 *si2 = malloc(sizeof(*si2));
	char value[17];
	int err = si2 ? si2_init(si2) : -ENOMEM;

	(void)job;
	if (err) {
		free(si2);
		return err;
	}
	err = reader_each(r, fd, take_si2, si2);
	if (!err) {
		(void)snprintf(value, sizeof(value), "%016" PRIx64,
			       si2_final(si2));
		err = digest_append_sum(out, value, path);
	}
	si2_release(si2);
	free(si2);
	return err;
}

const struct digest_style style_si2 = { .file = file_si2 };

/* ---- sif's own rule ---- */

static int take_classic(void *arg, const void *data, size_t len)
{
	return sif_classic_update(arg, data, len);
}

/* "-" when there is none. */
static int format_classic(struct sif_classic *s, struct buf *out)
{
	size_t i, count;
	const uint32_t *values = sif_classic_values(s, &count);
	int err = count ? 0 : buf_append_text(out, "-");

	for (i = 0; i < count && !err; i++)
		err = buf_append_format(out, "%s%08" PRIx32, i ? "," : "",
					values[i]);
	return err;
}

static int file_sif_classic(const struct digest_job *job, struct reader *r,
			    int fd, const char *path, struct buf *out)
{
	struct sif_classic sif;
	struct buf text = { 0 };
	int err =
		sif_classic_init(&sif, SIF_CLASSIC_BASE, SIF_CLASSIC_ZERO_BITS);

	(void)job;
	if (err)
		return err;
	err = reader_each(r, fd, take_classic, &sif);
	if (!err)
		err = format_classic(&sif, &text);
	if (!err)
		err = digest_append_sum(out, text.data, path);
	buf_release(&text);
	sif_classic_release(&sif);
	return err;
}

const struct digest_style style_sif_classic = { .file = file_sif_classic };

/* ---- RDC's list of chunks ---- */

static int take_rdc(void *arg, const void *data, size_t len)
{
	rdc_update(arg, data, len);
	return 0;
}

static int write_signatures(struct reader *r, int fd, struct rdc *rdc,
			    struct buf *out)
{
	struct rdc_signature_writer writer;
	uint8_t traits[RDC_TRAITS];
	int err = rdc_init(rdc, RDC_WINDOW, RDC_HORIZON);

	if (err)
		return err;
	rdc_signature_begin(&writer, rdc_signature_append, out);
	rdc->on_chunk = rdc_signature_add;
	rdc->arg = &writer;
	rdc_begin(rdc);
	err = reader_each(r, fd, take_rdc, rdc);
	if (!err)
		rdc_final(rdc, traits);
	return err ? err : writer.err;
}

static int file_rdc_signatures(const struct digest_job *job, struct reader *r,
			       int fd, const char *path, struct buf *out)
{
	struct rdc *rdc = malloc(sizeof(*rdc));
	int err = rdc ? write_signatures(r, fd, rdc, out) : -ENOMEM;

	(void)job;
	(void)path;
	free(rdc);
	return err;
}

const struct digest_style style_rdc_signatures = {
	.file = file_rdc_signatures
};
