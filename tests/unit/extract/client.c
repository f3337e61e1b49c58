/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract/client.h"

#include "tests/support/remove_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/extract/protocol.h"

/*
 * The client against processes that do what they like.  This program is its own
 * kin-extract: started with --serve it does what the file says that it is to
 * read, a letter at a time.
 */

static char top[] = "/tmp/extract_client.XXXXXX";
static char both[64]; /* there kin-extract-pdf is, too */
static struct extract_client *client;
static uint32_t cpu_limit = 200;

/* The next forks fail when it is 0; -1: none does. */
static int forks_left = -1;

pid_t fork(void)
{
	if (!forks_left) {
		errno = EAGAIN;
		return -1;
	}
	forks_left -= forks_left > 0;
	return _Fork();
}

/* ---- the process ---- */

static void send_frame(uint32_t type, const void *data, uint32_t len)
{
	const struct extract_frame head = { type, len };

	if (write(EXTRACT_ANSWER_FD, &head, sizeof(head)) < 0 ||
	    (data && write(EXTRACT_ANSWER_FD, data, len) < 0))
		_exit(1);
}

static void send_end(enum extract_status status, enum extract_kind kind)
{
	const struct extract_result r = { .status = status,
					  .kind = kind,
					  .date = getpid() };

	send_frame(EXTRACT_FRAME_END, &r, sizeof(r));
}

static void obey(char order)
{
	char huge[8] = "huge";

	switch (order) {
	case 't':
		send_frame(EXTRACT_FRAME_TEXT, "text", 4);
		break;
	case 'h': /* half of a character */
		send_frame(EXTRACT_FRAME_TEXT, "\xc3", 1);
		break;
	case 'n':
		send_frame(EXTRACT_FRAME_TEXT, "a\0b", 3);
		break;
	case 'b':
		send_frame(EXTRACT_FRAME_BYTES, "\xff", 1);
		break;
	case 'm':
		send_frame(EXTRACT_FRAME_MEMBER, "name", 4);
		break;
	case 'p':
		send_frame(EXTRACT_FRAME_PDF, "%PDF-", 5);
		break;
	case 'P':
		send_end(EXTRACT_OK, EXTRACT_PDF);
		break;
	case 'l': /* more than a frame may have */
		send_frame(EXTRACT_FRAME_TEXT, NULL, EXTRACT_FRAME_MAX + 1);
		break;
	case 'u':
		send_frame(99, huge, sizeof(huge));
		break;
	case 's': /* an end that is too short */
		send_frame(EXTRACT_FRAME_END, huge, sizeof(huge));
		break;
	case 'w': /* a status that is none */
		send_end(EXTRACT_STATUS_COUNT, EXTRACT_TEXT);
		break;
	case 'e':
		send_end(EXTRACT_OK, EXTRACT_TEXT);
		break;
	case '%': /* what a PDF begins with */
	case 'c': /* never ends */
		for (volatile unsigned i = 0;; i++)
			;
	default:
		abort();
	}
}

static int serve(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct extract_request request;
	struct iovec part = { &request, sizeof(request) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	char orders[64];
	ssize_t i, len;
	int fd;

	send_frame(EXTRACT_FRAME_READY, NULL, 0);
	while (recvmsg(EXTRACT_REQUEST_FD, &message, 0) > 0) {
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
		len = pread(fd, orders, sizeof(orders), 0);
		(void)close(fd);
		for (i = 0; i < len; i++)
			obey(orders[i]);
	}
	return 0;
}

/* ---- tests ---- */

static int make_file(const char *content)
{
	int fd = memfd_create("orders", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), strlen(content));
	return fd;
}

/* Pieces as letters, and the status as a digit: "tM.." */
static const char *read_as(const char *orders, uint32_t owner, int64_t *pid)
{
	static const char letters[] = { [EXTRACT_PIECE_TEXT] = 't',
					[EXTRACT_PIECE_BYTES] = 'b',
					[EXTRACT_PIECE_MEMBER] = '(',
					[EXTRACT_PIECE_MEMBER_END] = ')',
					[EXTRACT_PIECE_END] = '.' };
	static char out[64];
	struct extract_limits limits = extract_limits_default;
	struct extract_piece piece;
	int fd = make_file(orders);
	size_t len = 0;

	limits.cpu_ms = cpu_limit;
	limits.text = 12;
	limits.members = 5;
	assert_int_equal(extract_begin(client, fd, owner, &limits), 0);
	do {
		assert_int_equal(extract_next(client, &piece), 0);
		assert_true(len < sizeof(out) - 3);
		out[len++] = letters[piece.type];
		if (piece.type >= EXTRACT_PIECE_MEMBER_END)
			out[len++] = (char)('0' + (int)piece.result.status);
	} while (piece.type != EXTRACT_PIECE_END);
	out[len] = '\0';
	(void)close(fd);
	if (pid)
		*pid = piece.result.date;
	return out;
}

TEST(test_order)
{
	assert_string_equal(read_as("tte", 1, NULL), "tt.0");
	assert_string_equal(read_as("mtembee", 1, NULL), "(t)0(b)0.0");
	assert_string_equal(read_as("mmteetmee", 1, NULL), "((t)0)0t()0.0");
}

/* 3: damaged */
TEST(test_nonsense)
{
	static const char *const orders[] = { "h", "n", "l", "u", "s",
					      "w", "b", "p", "a" };
	size_t i;

	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		assert_string_equal(read_as(orders[i], 1, NULL), ".3");
		assert_string_equal(read_as("te", 1, NULL), "t.0");
	}
	assert_string_equal(read_as("mmta", 1, NULL), "((t.3");
	assert_string_equal(read_as("tttt", 1, NULL), "ttt.3");
	assert_string_equal(read_as("memememememe", 1, NULL),
			    "()0()0()0()0()0.3");
	assert_string_equal(read_as("te", 1, NULL), "t.0");
}

/* 4: a limit */
TEST(test_loop)
{
	assert_string_equal(read_as("tc", 1, NULL), "t.4");
	assert_string_equal(read_as("mc", 1, NULL), "(.4");
	assert_string_equal(read_as("te", 1, NULL), "t.0");
}

/* A PDF that never ends is one member; several take all the time that the file
 * has. */
TEST(test_time_of_members)
{
	struct extract_client *first = client;
	char one[16], several[32];

	assert_int_equal(extract_open(both, &client), 0);
	cpu_limit = 2000;
	(void)snprintf(one, sizeof(one), "%s", read_as("mpPte", 1, NULL));
	cpu_limit = 200;
	(void)snprintf(several, sizeof(several), "%s",
		       read_as("mpPmpPmpPmpPte", 1, NULL));
	extract_free(client);
	client = first;
	assert_string_equal(one, "()4t.0");
	assert_string_equal(strchr(several, '.'), ".4");
}

/* The starter is forked twice: either may fail. */
TEST(test_no_process)
{
	struct extract_client *none = NULL;

	for (forks_left = 0; forks_left < 2;) {
		const int left = forks_left;

		assert_int_equal(extract_open(top, &none), -EAGAIN);
		assert_null(none);
		forks_left = left + 1;
	}
	forks_left = -1;
}

/* 5: unsupported, as there is no program for it */
TEST(test_pdf)
{
	assert_string_equal(read_as("mppPmtee", 1, NULL), "()5(t)0.0");
	assert_string_equal(read_as("P", 1, NULL), ".5");
}

TEST(test_owners)
{
	int64_t first, second, other;

	(void)read_as("e", 1, &first);
	(void)read_as("te", 1, &second);
	(void)read_as("te", 2, &other);
	assert_int_equal(first, second);
	assert_int_not_equal(first, other);
}

/* What was not read to its end is not taken for the next one's. */
TEST(test_left)
{
	struct extract_piece piece;
	int fd = make_file("ttte");

	assert_int_equal(extract_begin(client, fd, 1, &extract_limits_default),
			 0);
	assert_int_equal(extract_next(client, &piece), 0);
	(void)close(fd);
	assert_string_equal(read_as("mbee", 1, NULL), "(b)0.0");
}

TEST(test_early)
{
	assert_string_equal(read_as("", 1, NULL), ".1");
}

TEST(test_missing)
{
	struct extract_client *none = NULL;

	assert_int_equal(extract_open("/nonexistent", &none), -ENOENT);
	assert_int_equal(extract_open("/", &none), -ENOENT);
	assert_null(none);
	extract_free(NULL);
}

static void link_program(const char *directory, const char *name)
{
	char from[64], to[96];

	(void)snprintf(from, sizeof(from), "%s/kin-extract", top);
	(void)snprintf(to, sizeof(to), "%s/%s", directory, name);
	assert_int_equal(link(from, to), 0);
}

static int copy_program(void **state)
{
	char path[64], buffer[65536];
	int from = open("/proc/self/exe", O_RDONLY), to;
	ssize_t len;

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chmod(top, 0755), 0);
	(void)snprintf(path, sizeof(path), "%s/kin-extract", top);
	to = open(path, O_WRONLY | O_CREAT, 0755);
	while ((len = read(from, buffer, sizeof(buffer))) > 0)
		assert_int_equal(write(to, buffer, (size_t)len), len);
	(void)close(from);
	(void)close(to);
	(void)snprintf(both, sizeof(both), "%s/both", top);
	assert_int_equal(mkdir(both, 0755), 0);
	link_program(both, "kin-extract");
	link_program(both, "kin-extract-pdf");
	return extract_open(top, &client);
}

static int remove_program(void **state)
{
	(void)state;
	extract_free(client);
	remove_tree(top);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--serve"))
		return serve();
	return test_run(copy_program, remove_program);
}
