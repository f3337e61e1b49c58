#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Random operations on the mount and behind it: whoever applies the lines of kin
# watch to a list of paths has the tree.  WATCH_OPERATIONS and WATCH_SEED say how
# many and which.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

operations=${WATCH_OPERATIONS:-3000}
seed=${WATCH_SEED:-$RANDOM}
src=$T/src
mnt=$T/mnt
mkdir "$src" "$mnt" "$T/away"
mount_kinfs "$src" "$mnt"
wait_idle "$mnt"
timeout 3000 "$KIN" watch "$mnt" >"$T/lines" 2>"$T/watch.err" &
pids+=($!)
poll 10 grep -q '^watching ' "$T/watch.err" ||
	bail "a watch begins" "$(cat "$T/watch.err")"

# Files of a few names in a few directories, so that they often meet.
cat >"$T/stir.py" <<'END'
import ctypes, os, random, shutil, sys

src, mnt, away, count, seed = sys.argv[1:]
r = random.Random(int(seed))
libc = ctypes.CDLL(None, use_errno=True)
EXCHANGE = 2

def place(files):
    below = ["d1", "d2", "d3", "d1/e", "d2/e", "d1/e/f"]
    d = r.choice([""] + below)
    return os.path.join(d, r.choice("abcdef" if files else ["d1", "d2", "d3", "e", "f"]))

def write(path, mode):
    with open(path, mode) as f:
        f.write("%d\n" % r.randrange(50) * r.randrange(400))

def operate(top):
    at = lambda files=True: os.path.join(top, place(files))
    k = r.randrange(20)
    if k < 6: write(at(), r.choice("wa"))
    elif k < 9: os.rename(at(), at())
    elif k < 10: libc.renameat2(-100, at().encode(), -100, at().encode(), EXCHANGE)
    elif k < 11: os.link(at(), at())
    elif k < 13: os.unlink(at())
    elif k < 15: os.mkdir(at(False))
    elif k < 17: os.rename(at(False), at(False))
    elif k < 18: libc.renameat2(-100, at(False).encode(), -100, at(r.randrange(2)).encode(), EXCHANGE)
    elif r.randrange(4) == 0: shutil.rmtree(at(False))
    elif r.randrange(2):
        # Out of the tree, or into it.
        out = os.path.join(away, r.choice("xyz"))
        if os.path.lexists(out):
            os.rename(out, os.path.join(src, place(os.path.isfile(out))))
        else:
            os.rename(os.path.join(src, place(r.randrange(2))), out)

for i in range(int(count)):
    try:
        operate(src if r.randrange(6) == 0 else mnt)
    except OSError:
        pass
END
cat >"$T/apply.py" <<'END'
import json, os, sys

lines, mnt, src = sys.argv[1:]
tree = set()
for line in open(lines):
    e = json.loads(line)
    path, was = e["path"][len(mnt) + 1:], e.get("from", "")[len(mnt) + 1:]
    if e["event"] == "moved" and e.get("directory"):
        tree = {path + p[len(was):] if p.startswith(was + "/") else p for p in tree}
    else:
        tree.discard(was)
        (tree.discard if e["event"] == "removed" else tree.add)(path)
disk = {os.path.relpath(os.path.join(d, f), src) for d, _, fs in os.walk(src) for f in fs}
for p in sorted(tree ^ disk):
    print("told" if p in tree else "on disk", p)
END
# In some commits, with merged changes and without.
for ((round = 1; round <= 12; round++)); do
	python3 "$T/stir.py" "$src" "$mnt" "$T/away" $((operations / 12)) \
		"$((seed + round))" 2>>"$T/stir.err"
	wait_idle "$mnt"
done
rescan "$mnt"
echo >"$mnt/last"
poll 60 grep -q '/last"' "$T/lines"
is "$(python3 "$T/apply.py" "$T/lines" "$mnt" "$src" 2>&1; cat "$T/stir.err")" "" \
	"$operations operations, seed $seed: the lines of kin watch give the tree"
ok "and there are many" test "$(wc -l <"$T/lines")" -gt $((operations / 30))
finish
