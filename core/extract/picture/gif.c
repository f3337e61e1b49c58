/* SPDX-License-Identifier: Apache-2.0 */
#include <gif_lib.h>
#include <stdlib.h>

#include "core/extract/picture/picture.h"

struct gif_source {
	const struct extract_input *in;
	uint64_t at;
};

static int read_bytes(GifFileType *gif, GifByteType *to, int len)
{
	struct gif_source *s = gif->UserData;
	const size_t got = input_read(s->in, s->at, to, (size_t)len);

	s->at += got;
	return (int)got;
}

/* What stands before the first picture: of it, the colour that is transparent. */
static bool skip_extension(GifFileType *gif, int *transparent)
{
	GraphicsControlBlock control;
	GifByteType *block;
	int code;

	if (DGifGetExtension(gif, &code, &block) == GIF_ERROR)
		return false;
	while (block) {
		if (code == GRAPHICS_EXT_FUNC_CODE &&
		    DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
			*transparent = control.TransparentColor;
		if (DGifGetExtensionNext(gif, &block) == GIF_ERROR)
			return false;
	}
	return true;
}

/* Goes to the first picture. */
static bool find_picture(GifFileType *gif, int *transparent)
{
	GifRecordType type = UNDEFINED_RECORD_TYPE;

	*transparent = NO_TRANSPARENT_COLOR;
	while (type != IMAGE_DESC_RECORD_TYPE) {
		if (DGifGetRecordType(gif, &type) == GIF_ERROR ||
		    type == TERMINATE_RECORD_TYPE)
			return false;
		if (type == EXTENSION_RECORD_TYPE &&
		    !skip_extension(gif, transparent))
			return false;
	}
	return DGifGetImageDesc(gif) == GIF_OK;
}

enum { COLOURS = 256 };

/* The brightness of each colour; one that the file does not have is black. */
static void make_colours(const GifFileType *gif, int transparent,
			 float colours[COLOURS])
{
	const ColorMapObject *map =
		gif->Image.ColorMap ? gif->Image.ColorMap : gif->SColorMap;
	int i;

	for (i = 0; i < COLOURS; i++) {
		colours[i] = i == transparent ? 255 : 0;
		if (map && i < map->ColorCount && i != transparent)
			colours[i] = pdq_luma(map->Colors[i].Red,
					      map->Colors[i].Green,
					      map->Colors[i].Blue);
	}
}

static bool add_row(GifFileType *gif, struct picture *p, uint32_t y,
		    const float colours[COLOURS], GifPixelType *line,
		    float *row)
{
	uint32_t x;

	if (DGifGetLine(gif, line, (int)p->width) == GIF_ERROR)
		return false;
	for (x = 0; x < p->width; x++)
		row[x] = colours[line[x]];
	picture_add_row(p, y, row);
	return true;
}

/* The rows of an interlaced picture come in four passes. */
static void add_rows(GifFileType *gif, struct picture *p,
		     const float colours[COLOURS], GifPixelType *line,
		     float *row)
{
	static const uint32_t begins[] = { 0, 4, 2, 1 };
	static const uint32_t steps[] = { 8, 8, 4, 2 };
	const bool is_interlaced = gif->Image.Interlace;
	bool goes_on = true;
	unsigned pass;
	uint32_t y;

	for (pass = 0; pass < (is_interlaced ? 4 : 1); pass++)
		for (y = is_interlaced ? begins[pass] : 0;
		     goes_on && y < p->height;
		     y += is_interlaced ? steps[pass] : 1)
			goes_on = add_row(gif, p, y, colours, line, row);
}

static enum extract_status read_picture(GifFileType *gif, struct picture *p)
{
	enum extract_status status;
	float colours[COLOURS], *row;
	GifPixelType *line;
	int transparent;

	if (!find_picture(gif, &transparent))
		return EXTRACT_DAMAGED;
	make_colours(gif, transparent, colours);
	status = picture_set_size(p, (uint32_t)gif->Image.Width,
				  (uint32_t)gif->Image.Height);
	if (!status)
		status = picture_begin_rows(p, p->width, p->height);
	if (status)
		return status;
	line = malloc(p->width);
	row = malloc(p->width * sizeof(*row));
	if (line && row)
		add_rows(gif, p, colours, line, row);
	else
		status = EXTRACT_LIMIT;
	free(line);
	free(row);
	return status;
}

enum extract_status gif_read(struct picture *p)
{
	struct gif_source source = { .in = p->in };
	GifFileType *gif = DGifOpen(&source, read_bytes, NULL);
	enum extract_status status;

	if (!gif)
		return EXTRACT_DAMAGED;
	status = read_picture(gif, p);
	(void)DGifCloseFile(gif, NULL);
	return status;
}
