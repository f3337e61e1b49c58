#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fault.py LISTEN TARGET CONTROL LOG: a proxy between unix sockets that causes
one fault on each connection.

CONTROL has one line, which is read anew for each connection:

    none
    count                            LOG gets the bytes of answers, requests
    answers|requests BYTES cut           the connection ends,
    answers|requests BYTES kill          the client is killed,
    answers|requests BYTES kill-server PID   or the server and its children,

after so many bytes of what the server or the client sends.  BYTES may be
"FIRST+STRIDE": FIRST, then STRIDE more on each connection.  LOG gets a line for
each fault."""
import os
import selectors
import signal
import socket
import struct
import sys
import threading

listen, target, control_file, log_file = sys.argv[1:5]
count = 0
last_control = ''


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as f:
        return [int(x) for x in f.read().split()]


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def log(*words):
    with open(log_file, 'a', encoding='ascii') as f:
        print(*words, file=f)


def act(words, client):
    log(*words)
    if words[2] == 'kill':
        pid, _, _ = struct.unpack('3i', client.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize('3i')))
        kill(pid)
    elif words[2] == 'kill-server':
        server = int(words[3])
        for pid in [server] + children(server):
            kill(pid)


def serve(client, words):
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(target)
    except OSError:
        client.close()
        return
    limits = {'answers': None, 'requests': None}
    if words[0] in limits:
        limits[words[0]] = int(words[1])
    bytes_of = {'answers': 0, 'requests': 0}
    ways = selectors.DefaultSelector()
    ways.register(client, selectors.EVENT_READ, ('requests', server))
    ways.register(server, selectors.EVENT_READ, ('answers', client))
    try:
        while True:
            for key, _ in ways.select():
                name, sink = key.data
                data = key.fileobj.recv(65536)
                if not data:
                    return
                bytes_of[name] += len(data)
                left = limits[name]
                if left is None:
                    sink.sendall(data)
                    continue
                sink.sendall(data[:left])
                limits[name] = left - min(left, len(data))
                if not limits[name]:
                    act(words, client)
                    return
    except OSError:
        pass
    finally:
        if words[0] == 'count':
            log(bytes_of['answers'], bytes_of['requests'])
        ways.close()
        server.close()
        client.close()


def words_of_next():
    global count, last_control
    with open(control_file, encoding='ascii') as f:
        control = f.read()
    if control != last_control:
        last_control, count = control, 0
    words = control.split()
    if '+' in control:
        first, stride = words[1].split('+')
        words[1] = str(int(first) + count * int(stride))
    count += 1
    return words


listener = socket.socket(socket.AF_UNIX)
listener.bind(listen)
listener.listen(64)
while True:
    accepted = listener.accept()[0]
    threading.Thread(target=serve, args=(accepted, words_of_next()),
                     daemon=True).start()
