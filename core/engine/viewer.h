/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ENGINE_VIEWER_H
#define CORE_ENGINE_VIEWER_H

#include "core/engine/engine.h"

/* Looking at files with somebody else's eyes: the calling thread alone takes
 * the viewer's filesystem user, group and supplementary groups. */

int viewer_copy(const struct engine_viewer *from, struct engine_viewer *out);
void viewer_release(struct engine_viewer *v);

/* 0, also for a trusted viewer (nothing changes then). */
int viewer_enter(const struct engine_viewer *v);
void viewer_leave(const struct engine_viewer *v);

/* Whether the viewer, entered before, may read the file. */
bool viewer_can_read(const struct engine_viewer *v, int fd);

#endif
