/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void show_device(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0)
		say("device of %s = %u:%u", path, major(st.st_rdev),
		    minor(st.st_rdev));
	show_stat(path);
}

TEST(make)
{
	TRY(mknod("null", S_IFCHR | 0666, makedev(1, 3)));
	TRY(mknod("block", S_IFBLK | 0660, makedev(7, 300)));
	TRY(mknod("large", S_IFCHR | 0600, makedev(4095, 1048575)));
	TRY(mknod("fifo", S_IFIFO | 0640, 0));
	TRY(mknod("socket", S_IFSOCK | 0640, 0));
	TRY(mknod("file", S_IFREG | 0640, 0));
	TRY(mknod("plain", 0640, 0));
	TRY(mknod("dir", S_IFDIR | 0640, 0));
	TRY(mknod("link", S_IFLNK | 0640, 0));
	TRY(mknod("odd", 0110000 | 0640, 0));
	TRY(mknod("fifo", S_IFIFO | 0640, 0));
	TRY(mknod("whiteout", S_IFCHR, 0));
	show_device("null");
	show_device("block");
	show_device("large");
	show_device("fifo");
	show_device("socket");
	show_device("file");
	show_device("plain");
	show_names(".");
}

TEST(devices)
{
	char data[4];
	int fd;

	TRY(mknod("null", S_IFCHR | 0666, makedev(1, 3)));
	TRY(mknod("nosuch", S_IFCHR | 0666, makedev(240, 77)));
	fd = TRY_FD(open("null", O_RDWR));
	TRY(write(fd, "x", 1));
	TRY(read(fd, data, sizeof(data)));
	TRY_FD(open("nosuch", O_RDWR));
	TRY(chmod("null", 0600));
	TRY(rename("null", "n"));
	TRY(truncate("n", 0));
	show_device("n");
}

TEST(fifo)
{
	char data[16] = "";
	int r;
	int w;

	TRY(mkfifo("p", 0644));
	TRY_FD(open("p", O_WRONLY | O_NONBLOCK));
	r = TRY_FD(open("p", O_RDONLY | O_NONBLOCK));
	TRY(read(r, data, sizeof(data)));
	w = TRY_FD(open("p", O_WRONLY));
	TRY(read(r, data, sizeof(data)));
	TRY(write(w, "through", 7));
	TRY(read(r, data, sizeof(data)));
	say("data = %s", data);
	TRY(unlink("p"));
	TRY(write(w, "still", 5));
	TRY(read(r, data, sizeof(data)));
	TRY(lseek(r, 0, SEEK_SET));
	TRY(close(r));
	TRY(write(w, "x", 1));
	TRY(mkfifo("q", 0644));
	TRY(rename("q", "p"));
	r = TRY_FD(open("p", O_RDWR | O_NONBLOCK));
	TRY(write(r, "both", 4));
	TRY(read(r, data, sizeof(data)));
}

static void fifo_writer(struct partner *self)
{
	int fd = open("p", O_WRONLY);

	TRY(write(fd, "from another process", 20));
	stop(self);
}

TEST(fifo_processes)
{
	struct partner p;
	char data[32] = "";
	int fd;

	TRY(mkfifo("p", 0644));
	partner_start(&p, fifo_writer);
	fd = TRY_FD(open("p", O_RDWR));
	go(&p);
	TRY(read(fd, data, sizeof(data)));
	say("data = %s", data);
	partner_end(&p);
}

static struct sockaddr_un address(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	return a;
}

static long bind_to(int fd, const char *path)
{
	struct sockaddr_un a = address(path);

	return bind(fd, (struct sockaddr *)&a, sizeof(a));
}

static long connect_to(int fd, const char *path)
{
	struct sockaddr_un a = address(path);

	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

static int new_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

TEST(socket)
{
	char data[16] = "";
	int server = new_socket();
	int client = new_socket();
	int fd;

	make_file("f", "", 0644);
	TRY(bind_to(server, "s"));
	show_stat("s");
	TRY(connect_to(client, "s"));
	TRY(listen(server, 1));
	TRY(connect_to(client, "f"));
	TRY(connect_to(client, "nosuch"));
	TRY(connect_to(client, "s"));
	fd = TRY_FD(accept(server, NULL, NULL));
	TRY(write(client, "hello", 5));
	TRY(read(fd, data, sizeof(data)));
	TRY_FD(open("s", O_RDWR));
	TRY(bind_to(new_socket(), "s"));
	TRY(rename("s", "t"));
	TRY(connect_to(new_socket(), "t"));
	TRY(chmod("t", 0));
	TRY(unlink("t"));
	TRY(bind_to(new_socket(), "t"));
}

TEST(socket_behind)
{
	char here[128];
	int server = new_socket();
	int dir = open(behind("."), O_RDONLY | O_DIRECTORY);

	TRY(bind_to(server, "s"));
	TRY(listen(server, 1));
	snprintf(here, sizeof(here), "/proc/self/fd/%d/s", dir);
	TRY(connect_to(new_socket(), here));
}

/* A program that says who it runs as. */
static void run_id(const char *option)
{
	char text[32] = "";
	int pipes[2];
	pid_t pid;

	NEED(pipe(pipes));
	pid = fork();
	if (!pid) {
		(void)dup2(pipes[1], STDOUT_FILENO);
		(void)execl("id", "id", option, (char *)NULL);
		_exit(99);
	}
	close(pipes[1]);
	if (read(pipes[0], text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	(void)waitpid(pid, NULL, 0);
	close(pipes[0]);
	text[strcspn(text, "\n")] = '\0';
	say("id %s = %s", option, text);
}

TEST_AS_ROOT(set_id_program)
{
	static const mode_t modes[] = { 0755, 04755, 02755, 06755, 0711 };
	char data[65536];
	int in = open("/usr/bin/id", O_RDONLY);
	int out = open("id", O_WRONLY | O_CREAT, 0755);
	ssize_t len;

	while ((len = read(in, data, sizeof(data))) > 0)
		need(write(out, data, (size_t)len) == len, "write");
	close(in);
	close(out);
	NEED(chown("id", alice.uid, alice.gid));
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		NEED(chmod("id", modes[i]));
		run_id("-u");
		run_id("-g");
	}
}

TEST(poll)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };

	make_file("f", "content", 0644);
	p.fd = TRY_FD(open("f", O_RDWR));
	TRY(poll(&p, 1, 0));
	TRY(p.revents);
	p.fd = TRY_FD(open(".", O_RDONLY));
	TRY(poll(&p, 1, 0));
	TRY(p.revents);
}

TEST_AS_ROOT(of_users)
{
	NEED(chmod(".", 0777));
	be(&alice);
	TRY(mknod("null", S_IFCHR | 0666, makedev(1, 3)));
	TRY(mknod("whiteout", S_IFCHR | 0666, 0));
	TRY(mknod("fifo", S_IFIFO | 0600, 0));
	TRY(mknod("socket", S_IFSOCK | 0600, 0));
	show_stat("fifo");
	show_stat("socket");
	be(&bob);
	TRY_FD(open("fifo", O_RDONLY | O_NONBLOCK));
	TRY(connect_to(new_socket(), "socket"));
	be(&alice);
	TRY(connect_to(new_socket(), "socket"));
}
