/* SPDX-License-Identifier: Apache-2.0 */
#include <png.h>
#include <stdlib.h>

#include "core/extract/picture/picture.h"

struct png_file {
	const struct extract_input *in;
	png_structp png;
	png_infop info, end;
	uint64_t at;
	uint8_t *rows; /* of one, or of all if it is interlaced */
	float *luma;
	unsigned channels;
};

static void read_bytes(png_structp png, png_bytep to, size_t len)
{
	struct png_file *f = png_get_io_ptr(png);

	if (input_read(f->in, f->at, to, len) != len)
		png_error(png, "cut off");
	f->at += len;
}

static void fail(png_structp png, png_const_charp what)
{
	(void)what;
	png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp what)
{
	(void)png;
	(void)what;
}

/* Grey or colours of 8 bits, with or without transparency. */
static void choose_output(struct png_file *f)
{
	png_set_expand(f->png);
	png_set_scale_16(f->png);
	(void)png_set_interlace_handling(f->png);
	png_read_update_info(f->png, f->info);
	f->channels = png_get_channels(f->png, f->info);
}

static void add_row(struct png_file *f, struct picture *p, uint32_t y,
		    const uint8_t *at)
{
	uint32_t x;

	for (x = 0; x < p->width; x++, at += f->channels) {
		f->luma[x] =
			f->channels < 3 ? at[0] : pdq_luma(at[0], at[1], at[2]);
		if (f->channels % 2 == 0)
			f->luma[x] =
				luma_on_white(f->luma[x], at[f->channels - 1]);
	}
	picture_add_row(p, y, f->luma);
}

/*
 * An interlaced picture comes in seven passes, the last of them the odd rows.  So
 * the even ones are whole before; where a pass before the last is cut off, there
 * are no rows.
 */
static void read_interlaced(struct png_file *f, struct picture *p, size_t row)
{
	const int last = PNG_INTERLACE_ADAM7_PASSES - 1;
	uint32_t y;
	int pass;

	for (pass = 0; pass <= last; pass++) {
		for (y = 0; y < p->height; y++) {
			png_read_row(f->png, f->rows + y * row, NULL);
			if (pass == last && y % 2)
				add_row(f, p, y, f->rows + y * row);
		}
		for (y = 0; pass == last - 1 && y < p->height; y += 2)
			add_row(f, p, y, f->rows + y * row);
	}
}

static void read_rows(struct png_file *f, struct picture *p)
{
	const size_t row = png_get_rowbytes(f->png, f->info);
	uint32_t y;

	if (png_get_interlace_type(f->png, f->info) != PNG_INTERLACE_NONE) {
		read_interlaced(f, p, row);
		return;
	}
	for (y = 0; y < p->height; y++) {
		png_read_row(f->png, f->rows, NULL);
		add_row(f, p, y, f->rows);
	}
}

static enum extract_status make_room(struct png_file *f, struct picture *p)
{
	const bool is_interlaced =
		png_get_interlace_type(f->png, f->info) != PNG_INTERLACE_NONE;
	const uint64_t size = png_get_rowbytes(f->png, f->info) *
			      (uint64_t)(is_interlaced ? p->height : 1);

	if (size > PICTURE_MEMORY_MOST)
		return EXTRACT_LIMIT;
	f->rows = malloc((size_t)size);
	f->luma = malloc(p->width * sizeof(*f->luma));
	return f->rows && f->luma ? picture_begin_rows(p, p->width, p->height) :
				    EXTRACT_LIMIT;
}

static void note_orientation(struct png_file *f, struct picture *p,
			     png_infop info)
{
	png_bytep exif;
	png_uint_32 len;

	if (png_get_eXIf_1(f->png, info, &len, &exif))
		p->orientation = orientation_of_exif(exif, len);
}

static enum extract_status read_file(struct png_file *f, struct picture *p)
{
	enum extract_status status;

	if (setjmp(png_jmpbuf(f->png)))
		return p->canvas.cells ? EXTRACT_OK : EXTRACT_DAMAGED;
	png_set_crc_action(f->png, PNG_CRC_QUIET_USE, PNG_CRC_QUIET_USE);
	png_set_read_fn(f->png, f, read_bytes);
	png_read_info(f->png, f->info);
	note_orientation(f, p, f->info);
	status = picture_set_size(p, png_get_image_width(f->png, f->info),
				  png_get_image_height(f->png, f->info));
	if (status)
		return status;
	choose_output(f);
	status = make_room(f, p);
	if (status)
		return status;
	read_rows(f, p);
	png_read_end(f->png, f->end);
	note_orientation(f, p, f->end);
	return EXTRACT_OK;
}

enum extract_status png_read(struct picture *p)
{
	struct png_file f = { .in = p->in };
	enum extract_status status = EXTRACT_LIMIT;

	f.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, fail,
				       ignore);
	if (f.png)
		f.info = png_create_info_struct(f.png);
	if (f.info)
		f.end = png_create_info_struct(f.png);
	if (f.end)
		status = read_file(&f, p);
	png_destroy_read_struct(&f.png, &f.info, &f.end);
	free(f.rows);
	free(f.luma);
	return status;
}
