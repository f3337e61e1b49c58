/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLI_CLI_H
#define CORE_CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/text.h"
#include "core/cli/options.h"
#include "core/client/client.h"
#include "core/digest/digest.h"
#include "core/digest/fingerprint.h"

/*
 * kin: one program, a table of commands (kin.c).  A command has a table of
 * options (options.h) that fill its job, asks a mount through core/client or
 * core/act, prints rows (table.h) on standard output and messages on standard
 * error, and returns the exit code.  kin is never linked to libfuse, and opens
 * no catalog.
 *
 * A function that can fail returns 0; a negative errno, which is still to be
 * explained; or an exit code, after a message.  The job of a command is static
 * and refers to everything that the command keeps to its end: exit() frees it.
 *
 * To add a command: a file with a struct command, its declaration here, a line
 * in commands[] of kin.c, a section in kin.1 and a test tests/e2e/cli/NAME.t.
 *
 * This header declares what several commands use.
 */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_INCOMPLETE = 3, /* the answer is not complete */
};

struct command {
	const char *name;
	const char *synopsis; /* after "kin " */
	const char *summary;
	const char *help; /* ends with a newline; or "" */
	const struct option_row
		*options;    /* behind it; NULL: it explains them */
	const char *notes;   /* behind these; or NULL */
	int operands[2];     /* least and most; { 0, 0 }: run() counts them */
	const char *lacking; /* said where there are fewer, or more */
	void *job;           /* the object that the options fill */
	/* The operands end with NULL.  An exit code, after a message; a negative
	 * errno is explained as one of the first operand. */
	int (*run)(const struct command *self, char **operands);
};

/* How many there are in a list that NULL ends. */
int operand_count(char **operands);

extern const struct command command_digest, command_compare, command_similar,
	command_status, command_wait, command_pause, command_resume,
	command_rescan, command_check, command_strip, command_dedup,
	command_groups, command_ignore, command_report, command_export,
	command_missing, command_passages, command_seed, command_watch,
	command_forget;

/* ---- messages ---- */

/* "kin: PATH: message" on standard error, in place of a bar that is shown there;
 * path may be NULL.  EXIT_FAILED. */
int cli_complain(const char *path, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints what a negative errno means, and what to do about it.  EXIT_FAILED. */
int cli_complain_errno(const char *path, int err);

/* Of an answer that has not all files of a mount; failed: how many files and
 * directories could not be read; texts: how many texts.  EXIT_INCOMPLETE. */
int cli_complain_incomplete(const char *path, uint64_t failed, uint64_t texts);
/* Says, once, how far a mount is that is still hashing; false: it is not. */
bool cli_complain_hashing(const char *path);
/* "3 files could not be hashed or looked at and the text of 1 document or archive
 * could not be read: kin status --failed"; one of the numbers is not 0. */
void cli_complain_failed(const char *path, uint64_t failed, uint64_t texts);
/* Appends that last part but for the command, unless texts is 0. */
void cli_append_failed_texts(uint64_t texts, struct buf *out);

/* After getopt or by itself: points to the help.  EXIT_USAGE. */
int cli_usage_error(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- output ---- */

/* Prints on one line and frees.  0, or EXIT_FAILED. */
int cli_print_json(json_t *value);

/* Of an object that a mount has told: a number, 0 if there is none or it is
 * negative; whether a value is true; a text, "-" if there is none. */
long long told_number(const json_t *object, const char *key);
bool told_flag(const json_t *object, const char *key);
const char *told_text(const json_t *object, const char *key);

/* Bytes, as ls -h has them. */
const char *size_text(uint64_t bytes, char out[TEXT_SIZE_ROOM]);

/* ---- files ---- */

/* A reader of files and the memory it needs. */
struct reader {
	struct fingerprint *fp;
	uint32_t digest_set;
	char *buffer;
	struct extract_client *extract; /* once there was a need for it */
};

/* -ENOMEM.  To be released in any case. */
int reader_init(struct reader *r, uint32_t digest_set);
void reader_release(struct reader *r);

/* Only regular files are opened: -EISDIR, -ENOTSUP for what is neither.
 * follow: path may be a symbolic link; else the caller has just seen that it
 * is a regular file.  "-" is an ordinary name here. */
int reader_open(const char *path, bool follow, int *fd_out);

/* The next piece of fd, of at most that many bytes, in r->buffer: its length, 0
 * at the end, or a negative errno. */
ssize_t reader_next(struct reader *r, int fd, uint64_t most);

/* From an open descriptor to its end.  name goes into the sdhash.  PDQ, if it is in
 * the set, is made by kin-extract. */
int reader_digest_fd(struct reader *r, int fd, const char *name,
		     struct digests *out);

/* The digests of a file in a mount, as its attributes tell them; one that is
 * missing stays unset. */
int cli_told_digests(const char *path, uint32_t set, struct digests *out);
/* Of a path below the root. */
int mount_told_digests(const struct mount *mount, const char *rel, uint32_t set,
		       struct digests *out);

/* Of what the user named: "-" is standard input.  text: with the sketch of its
 * text if it is a document or an archive, and the hashes of a picture; not in a pipe,
 * and if kin-extract is there. */
int reader_digest_named(struct reader *r, const char *path, bool text,
			struct digests *out);

/*
 * The regular files and directories of a tree, each directory before those in
 * it, in byte order of the names.  What cannot be looked at is an entry with its
 * error, and does not end the walk: fts(3) would pass over names behind an error
 * of readdir(3) without a word.
 */
struct tree_walk;
struct tree_entry {
	const char *path; /* valid until the next call */
	bool is_file, is_directory;
	bool is_top; /* what the walk began with */
	/* A negative errno: it cannot be looked at; of a directory, which was
	 * the entry before: it cannot be listed, or not to its end. */
	int error;
	struct stat st; /* without an error */
};

/* TREE_FOLLOW_TOP: path may be a symbolic link.  TREE_ONE_DEVICE: other
 * filesystems below are not entered. */
enum { TREE_FOLLOW_TOP = 1, TREE_ONE_DEVICE = 2 };
struct tree_walk *tree_walk_begin(const char *path, int options);
const struct tree_entry *tree_walk_next(struct tree_walk *w);
/* The directory at hand is not entered. */
void tree_walk_skip(struct tree_walk *w);
/* Frees it.  Returns what has ended it: code, the caller's own, or if that is 0
 * -ENOMEM if the walk did not come to its end.  w may be NULL: -ENOMEM. */
int tree_walk_end(struct tree_walk *w, int code);

/* ---- digests in text form ---- */

struct operand {
	struct digests digests;
	bool is_content; /* else digests alone, of a size not known */
	char *name;      /* owned; as a list has it, or what was named */
};

struct operands {
	struct operand *all;
	size_t count;
};

/* What arg names: "-", NAME:TEXT, a list of digests as kin digest or another
 * program prints them, or a file, whose content is not read yet.  Complains
 * itself: EXIT_OK or EXIT_FAILED.  out was zeroed; it has one at least. */
int operands_look(const char *arg, struct operands *out);

/* ---- measures ---- */

/* Two contents by every measure; -1 where one side has no digest. */
struct measures {
	int by_digest[DIGEST_COUNT];
	int distance; /* of the SimHashes */
	int tlsh;     /* the distance of the TLSH digests */
	int pdq;      /* bits that differ */
	int matches;  /* equal RDC traits */
};

int measures_take(const struct digests *a, const struct digests *b,
		  struct measures *out);

/* ---- mounts ---- */

/* The path below the root of the mount, owned, of what must be in it; a zeroed
 * mount is found by it, and has no rel.  EXIT_OK, EXIT_FAILED. */
int mount_path_or_complain(const char *path, struct mount *mount,
			   char **rel_out);

/* If the directory is in no mount, mounts it out of sight until this process has
 * ended, however it does, and waits with a bar until it is hashed; then
 * mount_find() finds it.  exact: the texts of documents are not waited for.  Of
 * what is in a mount it does nothing.  EXIT_OK, EXIT_FAILED.  (once.c) */
int once_mount(const char *path, bool exact);

/* Waits until all that can be hashed is; says nothing but by a bar on a terminal,
 * or why it never will be.  (wait.c) */
int wait_hashed(const struct mount *mount, bool exact);

/* Whether it has listings.  EXIT_OK, EXIT_FAILED. */
int mount_listings_or_complain(const struct mount *m);

/* The files at and below a path of a mount that have no digests. */
struct state_walk {
	bool failed;  /* "error:EIO" and "text:damaged" are asked for */
	bool skipped; /* "skipped:RULE"; a directory stands for all in it */
	/* The one at hand. */
	const char *path;
	char state[128];
	/* Of all before it. */
	size_t pending; /* files whose state is not known yet */

	bool has_texts;            /* the text of some files failed */
	const struct mount *mount; /* borrowed */
	struct tree_walk *tree;
};

/* To be ended by tree_walk_end(s->tree). */
void state_walk_begin(struct state_walk *s, const struct mount *mount,
		      const char *rel);
bool state_walk_next(struct state_walk *s);

#endif
