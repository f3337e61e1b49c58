/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "core/extract/picture/picture.h"

/*
 * The library makes a picture smaller while it decodes it, at little cost: sides of
 * this many pixels are enough.
 */
enum { SIDE_ENOUGH = 320, EIGHTHS = 8 };

enum { BUFFER = 65536, EXIF_MOST = 65533 };

struct jpeg_file {
	struct jpeg_decompress_struct j;
	struct jpeg_source_mgr source;
	struct jpeg_error_mgr errors;
	jmp_buf failed;
	enum extract_status status; /* of the failure */
	const struct extract_input *in;
	uint64_t at;
	bool is_cut; /* what follows is made up by the library */
	float *luma;
	uint8_t *row;
	uint8_t buffer[BUFFER];
};

/* ---- what the library calls ---- */

static void fail(j_common_ptr j)
{
	struct jpeg_file *f = j->client_data;
	const int code = j->err->msg_code;

	f->status = code == JERR_OUT_OF_MEMORY ||
				    code == JERR_NO_BACKING_STORE ||
				    code == JERR_TFILE_CREATE ?
			    EXTRACT_LIMIT :
			    EXTRACT_DAMAGED;
	longjmp(f->failed, 1);
}

static void note_warning(j_common_ptr j, int level)
{
	struct jpeg_file *f = j->client_data;
	const int code = j->err->msg_code;

	if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
		f->is_cut = true;
}

static void print_nothing(j_common_ptr j)
{
	(void)j;
}

static void do_nothing(j_decompress_ptr j)
{
	(void)j;
}

static boolean fill(j_decompress_ptr j)
{
	struct jpeg_file *f = j->client_data;
	size_t len = input_read(f->in, f->at, f->buffer, BUFFER);

	if (!len) {
		WARNMS(j, JWRN_JPEG_EOF);
		f->buffer[0] = 0xff;
		f->buffer[1] = JPEG_EOI;
		len = 2;
	}
	f->at += len;
	f->source.next_input_byte = f->buffer;
	f->source.bytes_in_buffer = len;
	return TRUE;
}

static void skip(j_decompress_ptr j, long len)
{
	struct jpeg_file *f = j->client_data;
	const size_t left = f->source.bytes_in_buffer;

	if (len <= 0)
		return;
	if ((size_t)len > left) {
		f->at += (size_t)len - left;
		f->source.bytes_in_buffer = 0;
	} else {
		f->source.next_input_byte += len;
		f->source.bytes_in_buffer -= (size_t)len;
	}
}

static void open_file(struct jpeg_file *f)
{
	f->j.err = jpeg_std_error(&f->errors);
	f->j.client_data = f;
	f->errors.error_exit = fail;
	f->errors.emit_message = note_warning;
	f->errors.output_message = print_nothing;
	jpeg_create_decompress(&f->j);
	f->source = (struct jpeg_source_mgr){
		.init_source = do_nothing,
		.fill_input_buffer = fill,
		.skip_input_data = skip,
		.resync_to_restart = jpeg_resync_to_restart,
		.term_source = do_nothing,
	};
	f->j.src = &f->source;
	f->j.mem->max_memory_to_use = PICTURE_MEMORY_MOST / 2;
	jpeg_save_markers(&f->j, JPEG_APP0 + 1, EXIF_MOST);
}

/* ---- the header ---- */

static unsigned orientation_of(const struct jpeg_file *f)
{
	jpeg_saved_marker_ptr m;
	unsigned orientation = 1;

	for (m = f->j.marker_list; m && orientation == 1; m = m->next)
		if (m->data_length > 6 && !memcmp(m->data, "Exif\0", 6))
			orientation =
				orientation_of_exif(m->data, m->data_length);
	return orientation;
}

static bool is_enough(uint32_t side, uint32_t eighths)
{
	return (uint64_t)side * eighths >= (uint64_t)SIDE_ENOUGH * EIGHTHS;
}

/* Chooses the size and the colours in which rows come. */
static void choose_output(struct jpeg_file *f, const struct picture *p)
{
	const bool is_large =
		picture_step(p->width) > 1 || picture_step(p->height) > 1;
	uint32_t eighths = is_large ? 1 : EIGHTHS;

	while (eighths < EIGHTHS && (!is_enough(p->width, eighths) ||
				     !is_enough(p->height, eighths)))
		eighths++;
	f->j.scale_num = eighths;
	f->j.scale_denom = EIGHTHS;
	f->j.out_color_space =
		f->j.jpeg_color_space == JCS_CMYK ||
				f->j.jpeg_color_space == JCS_YCCK ?
			JCS_CMYK :
			JCS_GRAYSCALE;
}

/* Whether the brightness is known but for details, after so many scans. */
static bool is_known(const struct jpeg_file *f, int scans)
{
	if (!scans || f->j.out_color_space != JCS_GRAYSCALE)
		return false;
	return !f->j.progressive_mode ||
	       (f->j.coef_bits[0][0] >= 0 && f->j.coef_bits[0][1] >= 0);
}

/*
 * Of a progressive picture the first scans are enough, those with the mean and the
 * lowest frequency of each square: what comes then are details, and takes two thirds
 * of the time.  If it ends in between, the means alone are.
 */
static bool read_scans(struct jpeg_file *f)
{
	int scans = 0, code = JPEG_SUSPENDED;

	while (code != JPEG_REACHED_EOI && !is_known(f, scans)) {
		code = jpeg_consume_input(&f->j);
		scans += code == JPEG_SCAN_COMPLETED;
		if (f->is_cut)
			return scans > 0;
	}
	return true;
}

/* ---- the rows ---- */

static void luma_of_row(struct jpeg_file *f)
{
	const uint8_t *at = f->row;
	uint32_t x;

	for (x = 0; x < f->j.output_width; x++) {
		if (f->j.out_color_space == JCS_GRAYSCALE) {
			f->luma[x] = at[x];
			continue;
		}
		/* Adobe's programs write how much is left of the paper. */
		f->luma[x] = pdq_luma(at[0], at[1], at[2]) * (float)at[3] / 255;
		if (!f->j.saw_Adobe_marker)
			f->luma[x] = pdq_luma(255U - at[0], 255U - at[1],
					      255U - at[2]) *
				     (float)(255 - at[3]) / 255;
		at += 4;
	}
}

static enum extract_status read_rows(struct jpeg_file *f, struct picture *p)
{
	const size_t row =
		(size_t)f->j.output_width * (size_t)f->j.output_components;
	enum extract_status status;
	uint32_t y;

	f->luma = malloc(f->j.output_width * sizeof(*f->luma));
	f->row = malloc(row);
	status = f->luma && f->row ? picture_begin_rows(p, f->j.output_width,
							f->j.output_height) :
				     EXTRACT_LIMIT;
	while (!status && f->j.output_scanline < f->j.output_height) {
		y = f->j.output_scanline;
		if (jpeg_read_scanlines(&f->j, &f->row, 1) != 1 ||
		    (f->is_cut && !f->j.buffered_image))
			break;
		luma_of_row(f);
		picture_add_row(p, y, f->luma);
	}
	return status;
}

static enum extract_status read_file(struct jpeg_file *f, struct picture *p)
{
	enum extract_status status;

	if (setjmp(f->failed))
		return p->canvas.cells && f->status == EXTRACT_DAMAGED ?
			       EXTRACT_OK :
			       f->status;
	open_file(f);
	(void)jpeg_read_header(&f->j, TRUE);
	p->orientation = orientation_of(f);
	status = picture_set_size(p, f->j.image_width, f->j.image_height);
	if (status)
		return status;
	choose_output(f, p);
	f->j.buffered_image = jpeg_has_multiple_scans(&f->j);
	(void)jpeg_start_decompress(&f->j);
	if (f->j.buffered_image) {
		if (!read_scans(f))
			return EXTRACT_DAMAGED;
		(void)jpeg_start_output(&f->j, f->j.input_scan_number);
	}
	return read_rows(f, p);
}

enum extract_status jpeg_read(struct picture *p)
{
	struct jpeg_file *f = calloc(1, sizeof(*f));
	enum extract_status status;

	if (!f)
		return EXTRACT_LIMIT;
	f->in = p->in;
	status = read_file(f, p);
	jpeg_destroy_decompress(&f->j);
	free(f->luma);
	free(f->row);
	free(f);
	return status;
}
