/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/conform/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- helpers ---- */

static struct flock range(short type, off_t start, off_t len)
{
	return (struct flock){
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = start,
		.l_len = len,
	};
}

static long set(int fd, short type, off_t start, off_t len)
{
	struct flock lock = range(type, start, len);

	return fcntl(fd, F_SETLK, &lock);
}

static long wait_for(int fd, short type, off_t start, off_t len)
{
	struct flock lock = range(type, start, len);

	return fcntl(fd, F_SETLKW, &lock);
}

static long set_ofd(int fd, short type, off_t start, off_t len)
{
	struct flock lock = range(type, start, len);

	return fcntl(fd, F_OFD_SETLK, &lock);
}

static const char *type_name(short type)
{
	return type == F_RDLCK ? "read" : type == F_WRLCK ? "write" : "none";
}

/* What stands in the way of a write lock of the whole file. */
static void show_lock(int fd)
{
	struct flock lock = range(F_WRLCK, 0, 0);

	if (fcntl(fd, F_GETLK, &lock) != 0)
		say("lock in the way = %s", error_name(errno));
	else if (lock.l_type == F_UNLCK)
		say("lock in the way = none");
	else
		say("lock in the way = %s from %lld, %lld bytes, of %s",
		    type_name(lock.l_type), (long long)lock.l_start,
		    (long long)lock.l_len,
		    lock.l_pid == getppid() ? "the parent" :
		    lock.l_pid == -1        ? "a descriptor" :
					      "somebody");
}

/* In another process: which bytes of the first 10 can be locked. */
static const char *probed = "f";

static void show_free(void)
{
	char text[32] = "";
	int fd = open(probed, O_RDWR);

	for (int i = 0; i < 10; i++) {
		char *at = text + i;

		*at = set(fd, F_WRLCK, i, 1) == 0 ? '-' :
		      set(fd, F_RDLCK, i, 1) == 0 ? 'r' :
						    'w';
		(void)set(fd, F_UNLCK, i, 1);
	}
	say("locks as others see them = %s", text);
	show_lock(fd);
}

static void show_flock(void)
{
	int fd = open(probed, O_RDWR);

	TRY(flock(fd, LOCK_SH | LOCK_NB));
	TRY(flock(fd, LOCK_EX | LOCK_NB));
	TRY(flock(fd, LOCK_UN));
}

/* ---- POSIX ---- */

TEST(ranges)
{
	int fd;

	make_file("f", "0123456789", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(set(fd, F_WRLCK, 0, 0));
	in_child(show_free);
	TRY(set(fd, F_UNLCK, 3, 2));
	in_child(show_free);
	TRY(set(fd, F_RDLCK, 4, 3));
	in_child(show_free);
	TRY(set(fd, F_RDLCK, 0, 2));
	in_child(show_free);
	TRY(set(fd, F_UNLCK, 0, 0));
	in_child(show_free);
	TRY(set(fd, F_WRLCK, 8, -3));
	in_child(show_free);
	TRY(set(fd, F_RDLCK, 0, 10));
	TRY(set(fd, F_WRLCK, 2, 1));
	in_child(show_free);
	show_lock(fd);
}

TEST(whence)
{
	struct flock lock = { .l_type = F_WRLCK, .l_start = -2, .l_len = 1 };
	int fd;

	make_file("f", "0123456789", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(lseek(fd, 5, SEEK_SET));
	lock.l_whence = SEEK_CUR;
	TRY(fcntl(fd, F_SETLK, &lock));
	lock.l_whence = SEEK_END;
	TRY(fcntl(fd, F_SETLK, &lock));
	in_child(show_free);
	lock.l_whence = SEEK_SET;
	TRY(fcntl(fd, F_SETLK, &lock));
	lock.l_whence = 99;
	TRY(fcntl(fd, F_SETLK, &lock));
	TRY(set(fd, 99, 0, 1));
}

TEST(access)
{
	int r;
	int w;

	make_file("f", "0123456789", 0644);
	NEED(mkdir("d", 0755));
	r = TRY_FD(open("f", O_RDONLY));
	w = TRY_FD(open("f", O_WRONLY));
	TRY(set(r, F_WRLCK, 0, 1));
	TRY(set(r, F_RDLCK, 0, 1));
	TRY(set(w, F_RDLCK, 1, 1));
	TRY(set(w, F_WRLCK, 1, 1));
	in_child(show_free);
	r = TRY_FD(open("d", O_RDONLY));
	TRY(set(r, F_RDLCK, 0, 1));
	TRY(set(open("f", O_PATH), F_RDLCK, 0, 1));
}

TEST(close)
{
	int fd;
	int other;

	make_file("f", "0123456789", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	other = TRY_FD(open("f", O_RDONLY));
	TRY(set(fd, F_WRLCK, 0, 5));
	in_child(show_free);
	TRY(close(other));
	in_child(show_free);
	TRY(set(fd, F_WRLCK, 0, 5));
	other = TRY_FD(dup(fd));
	TRY(close(other));
	in_child(show_free);
}

/* Descriptors for reading that were open before the lock was set. */
TEST(close_early)
{
	int fd;
	int early;
	int again;

	make_file("f", "0123456789", 0644);
	early = TRY_FD(open("f", O_RDONLY));
	fd = TRY_FD(open("f", O_RDWR));
	TRY(set(fd, F_WRLCK, 0, 5));
	TRY(close(early));
	in_child(show_free);
	TRY(close(fd));
	in_child(show_free);
	make_file("f", "another 10", 0644);
	early = TRY_FD(open("f", O_RDONLY));
	again = TRY_FD(dup(early));
	TRY(set(early, F_RDLCK, 0, 5));
	TRY(close(again));
	in_child(show_free);
}

static void child_of_locker(struct partner *self)
{
	int fd = open("f", O_RDWR);

	TRY(set(fd, F_WRLCK, 2, 3));
	stop(self);
	TRY(set(fd, F_UNLCK, 3, 1));
	stop(self);
	TRY(rename("f", "g"));
	stop(self);
	_exit(0);
}

TEST(two_processes)
{
	struct partner p;
	int fd;

	make_file("f", "0123456789", 0644);
	partner_start(&p, child_of_locker);
	fd = TRY_FD(open("f", O_RDWR));
	go(&p);
	TRY(set(fd, F_WRLCK, 4, 1));
	TRY(set(fd, F_RDLCK, 4, 1));
	TRY(set(fd, F_WRLCK, 0, 2));
	TRY(set(fd, F_WRLCK, 0, 0));
	go(&p);
	TRY(set(fd, F_WRLCK, 3, 1));
	TRY(set(fd, F_WRLCK, 4, 1));
	go(&p);
	TRY(set(fd, F_WRLCK, 4, 1));
	partner_end(&p);
	TRY(set(fd, F_WRLCK, 0, 0));
}

static void on_alarm(int number)
{
	(void)number;
}

/* Again and again: the first one may come before the call. */
static void alarms(long every_us)
{
	struct itimerval timer = { .it_value.tv_usec = every_us,
				   .it_interval.tv_usec = every_us };

	(void)sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm },
			NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void waiting_child(struct partner *self)
{
	int fd = open("f", O_RDWR);

	alarms(50000);
	TRY(wait_for(fd, F_WRLCK, 0, 1));
	TRY(flock(fd, LOCK_EX));
	alarms(0);
	stop(self);
	TRY(wait_for(fd, F_WRLCK, 0, 1));
	TRY(flock(fd, LOCK_EX));
}

TEST(interrupted)
{
	struct partner p;
	int fd;

	make_file("f", "0123456789", 0644);
	partner_start(&p, waiting_child);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(set(fd, F_WRLCK, 0, 1));
	TRY(flock(fd, LOCK_EX));
	go(&p);
	TRY(set(fd, F_UNLCK, 0, 1));
	TRY(flock(fd, LOCK_UN));
	go(&p);
	partner_end(&p);
	TRY(set(fd, F_WRLCK, 0, 1));
}

static void other_waiter(struct partner *self)
{
	int fd = open("f", O_RDWR);

	TRY(set(fd, F_WRLCK, 1, 1));
	stop(self);
	need(wait_for(fd, F_WRLCK, 0, 1) == 0, "the other lock");
}

static bool is_in_fcntl(pid_t pid)
{
	char path[64];
	long number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (fscanf(file, "%ld", &number) != 1)
		number = -1;
	fclose(file);
	return number == SYS_fcntl;
}

/* Two wait for each other, and the second one is told so. */
TEST(deadlock)
{
	struct partner p;
	int fd;

	make_file("f", "0123456789", 0644);
	partner_start(&p, other_waiter);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(set(fd, F_WRLCK, 0, 1));
	go(&p);
	go_on(&p);
	for (int i = 0; i < 1000 && !is_in_fcntl(p.pid); i++)
		tick();
	alarms(100000);
	TRY(wait_for(fd, F_WRLCK, 1, 1));
	alarms(0);
	TRY(set(fd, F_UNLCK, 0, 1));
	partner_end(&p);
}

/* ---- open file descriptions ---- */

TEST(ofd)
{
	int fd;
	int other;
	int again;

	make_file("f", "0123456789", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	other = TRY_FD(open("f", O_RDWR));
	TRY(set_ofd(fd, F_WRLCK, 0, 5));
	TRY(set_ofd(other, F_WRLCK, 4, 1));
	TRY(set_ofd(other, F_WRLCK, 5, 1));
	TRY(set(other, F_WRLCK, 0, 1));
	in_child(show_free);
	again = TRY_FD(dup(fd));
	TRY(close(fd));
	TRY(set_ofd(other, F_WRLCK, 4, 1));
	TRY(set_ofd(again, F_UNLCK, 0, 3));
	in_child(show_free);
	TRY(set_ofd(other, F_WRLCK, 0, 3));
}

/* A close() of the mount does not wait for what it brings about. */
TEST(ofd_close)
{
	struct flock lock = range(F_WRLCK, 0, 5);
	int fd;
	int other;

	make_file("f", "0123456789", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	other = TRY_FD(open("f", O_RDWR));
	TRY(set_ofd(fd, F_WRLCK, 0, 5));
	TRY(set_ofd(other, F_WRLCK, 0, 5));
	TRY(close(fd));
	(void)sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm },
			NULL);
	alarm(10);
	TRY(fcntl(other, F_OFD_SETLKW, &lock));
}

/* ---- flock() ---- */

TEST(flock)
{
	int fd;
	int other;
	int again;

	make_file("f", "0123456789", 0644);
	NEED(mkdir("d", 0755));
	fd = TRY_FD(open("f", O_RDONLY));
	other = TRY_FD(open("f", O_WRONLY));
	TRY(flock(fd, LOCK_SH));
	TRY(flock(other, LOCK_SH | LOCK_NB));
	TRY(flock(other, LOCK_EX | LOCK_NB));
	in_child(show_flock);
	TRY(flock(fd, LOCK_UN));
	TRY(flock(other, LOCK_EX | LOCK_NB));
	in_child(show_flock);
	TRY(flock(fd, LOCK_SH | LOCK_NB));
	again = TRY_FD(dup(other));
	TRY(close(other));
	TRY(flock(fd, LOCK_EX | LOCK_NB));
	TRY(flock(again, LOCK_UN));
	TRY(flock(fd, LOCK_EX | LOCK_NB));
	TRY(flock(again, LOCK_SH | LOCK_NB));
	TRY(flock(fd, LOCK_SH | LOCK_NB));
	TRY(flock(again, LOCK_SH | LOCK_NB));
	TRY(flock(fd, 99));
	TRY(flock(fd, 0));
	TRY(flock(open("f", O_PATH), LOCK_SH));
	fd = TRY_FD(open("d", O_RDONLY));
	TRY(flock(fd, LOCK_EX | LOCK_NB));
	TRY(flock(open("d", O_RDONLY), LOCK_EX | LOCK_NB));
}

TEST(kinds_apart)
{
	int fd;
	int other;

	make_file("f", "0123456789", 0644);
	fd = TRY_FD(open("f", O_RDWR));
	other = TRY_FD(open("f", O_RDWR));
	TRY(flock(fd, LOCK_EX));
	TRY(set(other, F_WRLCK, 0, 0));
	in_child(show_flock);
	in_child(show_free);
	TRY(flock(fd, LOCK_UN));
	in_child(show_flock);
}

/* ---- seen from the other side of the mount ---- */

TEST(behind)
{
	int fd;

	make_file("f", "0123456789", 0644);
	probed = behind("f");
	fd = TRY_FD(open("f", O_RDWR));
	TRY(set(fd, F_WRLCK, 0, 3));
	TRY(set(fd, F_RDLCK, 5, 2));
	TRY(flock(fd, LOCK_EX));
	in_child(show_free);
	in_child(show_flock);
	TRY(set(fd, F_UNLCK, 0, 0));
	TRY(flock(fd, LOCK_SH));
	in_child(show_free);
	in_child(show_flock);
	TRY(flock(fd, LOCK_UN));
	in_child(show_flock);
}

static void behind_holder(struct partner *self)
{
	int fd = open(behind("f"), O_RDWR);

	TRY(set(fd, F_WRLCK, 2, 3));
	TRY(flock(fd, LOCK_EX));
	stop(self);
	_exit(0);
}

TEST(from_behind)
{
	struct partner p;
	int fd;

	make_file("f", "0123456789", 0644);
	partner_start(&p, behind_holder);
	fd = TRY_FD(open("f", O_RDWR));
	go(&p);
	TRY(set(fd, F_WRLCK, 2, 1));
	TRY(set(fd, F_RDLCK, 4, 1));
	TRY(set(fd, F_WRLCK, 5, 1));
	TRY(flock(fd, LOCK_SH | LOCK_NB));
	partner_end(&p);
	TRY(set(fd, F_WRLCK, 2, 1));
	TRY(flock(fd, LOCK_EX | LOCK_NB));
}

TEST(lease)
{
	int fd;

	make_file("f", "0123456789", 0644);
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(fcntl(fd, F_SETLEASE, F_RDLCK));
	TRY(fcntl(fd, F_GETLEASE));
}
