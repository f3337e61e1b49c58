/* SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>

#include "core/extract/reader.h"

static GLogWriterOutput drop_warning(GLogLevelFlags level,
				     const GLogField *fields, gsize count,
				     gpointer arg)
{
	(void)level;
	(void)fields;
	(void)count;
	(void)arg;
	return G_LOG_WRITER_HANDLED;
}

void glib_be_quiet(void)
{
	g_log_set_writer_func(drop_warning, NULL, NULL);
}
