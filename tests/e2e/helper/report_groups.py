#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_groups.py PAGE GROUPS: the page of kin report PAGE about other groups,
those of GROUPS in the form of kin groups --json; a file takes the bytes of its
length on disk where it does not say so."""
import base64
import json
import re
import sys
import zlib

page = open(sys.argv[1], encoding="utf-8").read()
begin, data, end = re.split(r'(?<=id="data">)([^<]*)', page, maxsplit=1)
about = zlib.decompress(base64.b64decode(data)).splitlines()[-1]
lines = []
for line in open(sys.argv[2], encoding="utf-8"):
    group = json.loads(line)
    for member in group.get("members", []):
        for file in member["files"]:
            file.setdefault("on_disk", member["size"])
    if "members" in group:
        lines.append(json.dumps({"members": group["members"]}).encode())
data = zlib.compress(b"\n".join(lines + [about]), 6)
sys.stdout.write(begin + base64.b64encode(data).decode() + end)
