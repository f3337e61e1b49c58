#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""cut.py LISTEN TARGET BYTES_FILE: a proxy between unix sockets that cuts each
connection after so many bytes of the server's answers (BYTES_FILE, read anew
for each connection; 0: never)."""
import os
import socket
import sys
import threading

listen, target, limit_file = sys.argv[1:4]


def pump(source, sink, limit):
    sent = 0
    try:
        while data := source.recv(4096):
            if limit and sent + len(data) >= limit:
                sink.sendall(data[:limit - sent])
                break
            sink.sendall(data)
            sent += len(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client):
    with open(limit_file, encoding='ascii') as f:
        limit = int(f.read())
    server = socket.socket(socket.AF_UNIX)
    try:
        server.connect(target)
    except OSError:
        client.close()
        return
    threading.Thread(target=pump, args=(client, server, 0), daemon=True).start()
    pump(server, client, limit)


if os.path.exists(listen):
    os.unlink(listen)
listener = socket.socket(socket.AF_UNIX)
listener.bind(listen)
listener.listen(64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],),
                     daemon=True).start()
