#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The users of scripts/bench.d/users.sh.

users.py fill FS               what they have; FS is where SOURCE is
users.py attack UID MOUNT       the user asks for as much as there is, until killed
users.py time UID MOUNT SECONDS
                               what another user's requests take: a line for each
                               kind of request, "kind median p99 most count", in
                               milliseconds
"""
import ctypes
import os
import random
import signal
import subprocess
import sys
import time

PUBLIC = 400  # files of everybody
COPIES = 3000  # of one content, in a path of DEEP names of 250 bytes
DEEP = 15
DEEPER = 600  # names of 250 bytes above DEEPER_COPIES files
DEEPER_COPIES = 800
TOPS = 6  # files of the user's with these copies
TEXT = "0123456789abcdefghijklmnop of b\n"
WRITTEN = 4 << 20  # bytes of a file that is written and closed


def words(seed):
    draw = random.Random(seed)
    return " ".join(str(draw.randrange(10**9)) for _ in range(400)) + "\n"


def descend(depth):
    for _ in range(depth):
        os.mkdir("D" * 250)
        os.chdir("D" * 250)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def fill(fs):
    os.makedirs(f"{fs}/public")
    for i in range(PUBLIC):
        # Every tenth has a near-duplicate.
        write(f"{fs}/public/{i}", words(i - i % 10) + words(i + 1))
    for name, copies, depth in (
        ("deep", COPIES, DEEP),
        ("deeper", DEEPER_COPIES, DEEPER),
    ):
        os.makedirs(f"{fs}/b/{name}")
        os.chdir(f"{fs}/b/{name}")
        descend(depth)
        for i in range(copies):
            write(f"f{i}", TEXT)
    for i in range(TOPS):
        write(f"{fs}/b/top{i}", TEXT)


def become(uid):
    if uid:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)


# ---- what the attacker does, each in a process of its own, without an end ----


def list_again(path):
    os.listdir(path)


def open_many(path, most=70, pause=3):
    opened = []
    try:
        for _ in range(most):
            opened.append(os.open(path, os.O_RDONLY))
    except OSError:
        pass
    time.sleep(pause)
    for fd in opened:
        os.close(fd)


def write_and_close(path):
    with open(path, "wb") as file:
        file.write(os.urandom(WRITTEN))


def ask(path):
    subprocess.run(
        [os.environ["KIN"], "similar", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )


def attack(uid, mount):
    similar = f"{mount}/.similar"
    jobs = [(list_again, f"{similar}/b/top{i % TOPS}") for i in range(10)]
    jobs += [(open_many, f"{similar}/b/top{i % TOPS}") for i in range(4)]
    jobs += [(open_many, f"{similar}/.query"), (open_many, f"{mount}/b/top0")]
    jobs += [(write_and_close, f"{mount}/b/written{i}") for i in range(4)]
    jobs += [(ask, f"{mount}/b/top{i}") for i in range(4)]
    become(uid)
    for work, path in jobs:
        if os.fork():
            continue
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        while True:
            try:
                work(path)
            except OSError:
                time.sleep(0.01)
    print("ready", flush=True)
    while True:
        signal.pause()


# ---- what is measured ----


def read_file(path):
    with open(path, "rb") as file:
        file.read()


def time_requests(uid, mount, seconds):
    kinds = {
        "stat": lambda i: os.stat(f"{mount}/public/{i}"),
        "open, read": lambda i: read_file(f"{mount}/public/{i}"),
        "getxattr": lambda i: os.getxattr(f"{mount}/public/{i}", "user.simhash"),
        "ls .similar": lambda i: os.listdir(f"{mount}/.similar/public/{i}"),
    }
    taken = {kind: [] for kind in kinds}
    become(uid)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for kind, request in kinds.items():
            begin = time.monotonic()
            request(random.randrange(PUBLIC))
            taken[kind].append((time.monotonic() - begin) * 1e3)
    for kind, times in taken.items():
        times.sort()
        count = len(times)
        print(
            f"{kind}\t{times[count // 2]:.3f}\t{times[count * 99 // 100]:.3f}"
            f"\t{times[-1]:.3f}\t{count}"
        )


def main():
    what = sys.argv[1]
    if what == "fill":
        fill(sys.argv[2])
    elif what == "attack":
        attack(int(sys.argv[2]), sys.argv[3])
    else:
        time_requests(int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))


main()
