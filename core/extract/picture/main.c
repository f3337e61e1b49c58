/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/picture/picture.h"
#include "core/extract/sniff.h"

void reader_read(struct extract_output *o, const struct extract_input *in)
{
	struct extract_result r = { .date = EXTRACT_NO_DATE };
	struct picture p = { .in = in, .orientation = 1 };
	uint8_t head[SNIFF_PICTURE_BYTES];

	r.kind = sniff_picture(head, input_read(in, 0, head, sizeof(head)));
	switch (r.kind) {
	case EXTRACT_JPEG:
		r.status = jpeg_read(&p);
		break;
	case EXTRACT_PNG:
		r.status = png_read(&p);
		break;
	case EXTRACT_WEBP:
		r.status = webp_read(&p);
		break;
	case EXTRACT_GIF:
		r.status = gif_read(&p);
		break;
	default:
		r.status = EXTRACT_UNSUPPORTED;
	}
	if (!r.status)
		r.status = picture_finish(&p, &r.picture);
	picture_release(&p);
	output_end(o, &r);
}

const uint64_t reader_memory = PICTURE_MEMORY_MOST;

int reader_warm_up(void)
{
	return 0;
}

int main(void)
{
	return serve_requests();
}
