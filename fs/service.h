/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FS_SERVICE_H
#define FS_SERVICE_H

struct fs;
struct service;

/*
 * The mount as a service of systemd (Type=notify): READY=1 when the kernel has
 * accepted the mount, then a STATUS= line of the progress, STOPPING=1.  Without
 * NOTIFY_SOCKET all of this does nothing.
 */

/* Sends READY=1; for fs->report. */
void service_report_ready(struct fs *fs);

/* Starts the thread that reports the progress.  The engine runs.  Errors are
 * ignored. */
void service_start(struct fs *fs);
/* Ends the thread; called before the engine is freed.  May be called twice. */
void service_stop(struct fs *fs);

#endif
