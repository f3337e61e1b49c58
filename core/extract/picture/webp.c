/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "core/extract/picture/picture.h"

/* Y of WebP goes from 16 to 235. */
static float luma_of(uint8_t y)
{
	const float luma = ((float)y - 16) * (255.0F / 219);

	return luma < 0 ? 0 : luma > 255 ? 255 : luma;
}

static enum extract_status status_of(VP8StatusCode code)
{
	return code == VP8_STATUS_OK            ? EXTRACT_OK :
	       code == VP8_STATUS_OUT_OF_MEMORY ? EXTRACT_LIMIT :
						  EXTRACT_DAMAGED;
}

/* The rows that came. */
static enum extract_status add_rows(struct picture *p, const WebPIDecoder *w,
				    uint32_t width, uint32_t height)
{
	int last = 0, stride = 0, alpha_stride = 0;
	uint8_t *u, *v, *alpha = NULL, *luma;
	enum extract_status status;
	float *row = NULL;
	uint32_t x, y;

	luma = WebPIDecGetYUVA(w, &last, &u, &v, &alpha, NULL, NULL, &stride,
			       NULL, &alpha_stride);
	if (!luma)
		return EXTRACT_DAMAGED;
	status = picture_begin_rows(p, width, height);
	row = malloc(width * sizeof(*row));
	if (!status && !row)
		status = EXTRACT_LIMIT;
	for (y = 0; !status && y < (uint32_t)last; y++) {
		for (x = 0; x < width; x++) {
			row[x] = luma_of(luma[y * (size_t)stride + x]);
			if (alpha)
				row[x] = luma_on_white(
					row[x],
					alpha[y * (size_t)alpha_stride + x]);
		}
		picture_add_row(p, y, row);
	}
	free(row);
	return status;
}

/* The library makes it smaller, as much as the canvas would. */
static enum extract_status decode(struct picture *p, const WebPData *frame)
{
	const uint32_t step_x = picture_step(p->width);
	const uint32_t step_y = picture_step(p->height);
	const uint32_t width = (p->width + step_x - 1) / step_x;
	const uint32_t height = (p->height + step_y - 1) / step_y;
	enum extract_status status = EXTRACT_LIMIT;
	WebPDecoderConfig config;
	WebPIDecoder *w;
	VP8StatusCode code;

	if (!WebPInitDecoderConfig(&config))
		return EXTRACT_UNSUPPORTED;
	config.output.colorspace = MODE_YUVA;
	config.options.use_scaling = step_x > 1 || step_y > 1;
	config.options.scaled_width = (int)width;
	config.options.scaled_height = (int)height;
	w = WebPIDecode(NULL, 0, &config);
	if (w) {
		code = WebPIUpdate(w, frame->bytes, frame->size);
		status = code == VP8_STATUS_SUSPENDED ? EXTRACT_OK :
							status_of(code);
		if (!status)
			status = add_rows(p, w, width, height);
	}
	WebPIDelete(w);
	WebPFreeDecBuffer(&config.output);
	return status;
}

static void note_orientation(struct picture *p, const WebPDemuxer *file)
{
	WebPChunkIterator chunk;

	if (WebPDemuxGetChunk(file, "EXIF", 1, &chunk)) {
		p->orientation = orientation_of_exif(chunk.chunk.bytes,
						     chunk.chunk.size);
		WebPDemuxReleaseChunkIterator(&chunk);
	}
}

/* Of an animation the first frame. */
static enum extract_status read_frame(struct picture *p,
				      const WebPDemuxer *file)
{
	enum extract_status status;
	WebPIterator frame;

	if (!WebPDemuxGetFrame(file, 1, &frame))
		return EXTRACT_DAMAGED;
	status = picture_set_size(p, (uint32_t)frame.width,
				  (uint32_t)frame.height);
	if (!status)
		status = decode(p, &frame.fragment);
	WebPDemuxReleaseIterator(&frame);
	return status;
}

enum extract_status webp_read(struct picture *p)
{
	WebPDemuxState state;
	WebPDemuxer *file;
	WebPData data;
	uint8_t *owned;
	enum extract_status status =
		input_load(p->in, &data.bytes, &data.size, &owned);

	if (status)
		return status;
	file = WebPDemuxPartial(&data, &state);
	status = file ? read_frame(p, file) : EXTRACT_DAMAGED;
	if (file)
		note_orientation(p, file);
	WebPDemuxDelete(file);
	free(owned);
	return status;
}
