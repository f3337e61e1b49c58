#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tab.py SHELL SETUP LINE WANTED: types LINE and tabs into an interactive shell.

SHELL is run on a terminal of its own, gets the line SETUP and then LINE and
two tabs.  Exit status 0 when the terminal shows WANTED after that; 1, and what
it shows, when it does not within a minute.
"""
import os
import pty
import re
import select
import sys
import time

READY = b"ready-%d" % os.getpid()


def read_until(terminal, wanted, deadline):
    seen = b""
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        # What the shell prints to place the cursor and to colour is no text.
        plain = re.sub(rb"\x1b\[[0-9;?>]*[A-Za-z]|\x1b[=>]|\r", b"", seen)
        if wanted in plain:
            return True, plain
    return False, seen


def main():
    shell, setup, line, wanted = sys.argv[1:5]
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm", LINES="60", COLUMNS="120", PS1="$ ")
        os.execvp(shell.split()[0], shell.split())
    deadline = time.monotonic() + 60
    # The mark is put together by the shell, so that the echo does not have it.
    half = len(READY) // 2
    os.write(terminal, setup.encode() + b"; printf '%s%s\\n' " +
             READY[:half] + b" " + READY[half:] + b"\n")
    found, seen = read_until(terminal, READY, deadline)
    if found:
        os.write(terminal, line.encode() + b"\t\t")
        found, seen = read_until(terminal, wanted.encode(), deadline)
    if not found:
        sys.stderr.write(repr(seen) + "\n")
    os.write(terminal, b"\x03\x04exit\n")
    os.close(terminal)
    os.waitpid(child, 0)
    return 0 if found else 1


sys.exit(main())
