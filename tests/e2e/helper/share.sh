# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the tests of kin-share: database servers of their own, each in a directory
# of its own, reached over a unix socket in it, as a user that is not root.

KIN_SHARE=$(realpath -m "${KIN_SHARE:-$(dirname "$KIN")/kin-share}")
PG_USER=postgres
id "$PG_USER" >/dev/null 2>&1 || PG_USER=nobody
PG_BIN=$(command -v pg_config >/dev/null && pg_config --bindir)
[ -x "$PG_BIN/initdb" ] || PG_BIN=$(
	find /usr/lib/postgresql /usr/pgsql-* -maxdepth 2 -name bin 2>/dev/null |
		sort -V | tail -n 1)
[ -x "$PG_BIN/initdb" ] || bail "PostgreSQL is installed" \
	"initdb is not found; scripts/deps check"
declare -A pg_pid=() pg_port=()

as_pg() { # COMMAND...
	setpriv --reuid="$PG_USER" --regid="$(id -g "$PG_USER")" --clear-groups \
		"$@"
}

db() { # SERVER: how libpq reaches it
	printf 'host=%s port=%s user=postgres dbname=postgres' "$T/pg-$1" \
		"${pg_port[$1]:-5432}"
}

sql() { # SERVER STATEMENT [DATABASE]
	"$PG_BIN/psql" -XqAt "$(db "$1")${3:+ dbname=$3}" -c "$2"
}

answers() { # SERVER
	sql "$1" 'SELECT 1'
}

# No sync: the machine is not to fail.
launch_server() { # SERVER [SETTING...]
	local name=$1 dir=$T/pg-$1 setting
	local settings=(-c "unix_socket_directories=$dir" -c fsync=off
		-c full_page_writes=off -c max_connections=40
		-c shared_buffers=64MB)
	shift
	for setting; do
		settings+=(-c "$setting")
	done
	if [ ! -d "$dir" ]; then
		mkdir -m 755 "$dir"
		chown "$PG_USER" "$dir"
		(cd "$dir" && as_pg "$PG_BIN/initdb" -D "$dir/data" -U postgres \
			-A trust -N -E UTF8 --no-locale) >"$T/initdb.log" 2>&1 ||
			bail "a server is made" "$(cat "$T/initdb.log")"
	fi
	rm -f "$dir/data/postmaster.pid"
	(cd "$dir" && exec setpriv --reuid="$PG_USER" \
		--regid="$(id -g "$PG_USER")" --clear-groups \
		"$PG_BIN/postgres" -D "$dir/data" -c listen_addresses= \
		"${settings[@]}") >>"$T/pg-$name.log" 2>&1 &
	pg_pid[$name]=$!
	pids+=("${pg_pid[$name]}")
}

# A server does not start as long as processes of one that was killed are there,
# so it is launched again then.
serves() { # SERVER [SETTING...]
	answers "$1" && return
	[ -d "/proc/${pg_pid[$1]}" ] || launch_server "$@"
	return 1
}

# Also one that was killed.
start_server() { # SERVER [SETTING...]
	launch_server "$@"
	poll 30 serves "$@" || bail "server $1 starts" \
		"$(tail -n 20 "$T/pg-$1.log")"
}

# As a power failure would.  Its processes end when they see that.
kill_server() { # SERVER
	local pid=${pg_pid[$1]} children
	children=$(pgrep -P "$pid")
	kill -KILL "$pid"
	# shellcheck disable=SC2086 # several
	kill -KILL $children 2>/dev/null
	wait "$pid" 2>/dev/null
	# shellcheck disable=SC2086
	poll 10 all_gone $children
}

all_gone() { # PID...
	local pid
	for pid; do
		[ ! -d "/proc/$pid" ] || return 1
	done
}

stop_server() { # SERVER
	kill -QUIT "${pg_pid[$1]}" 2>/dev/null
	wait "${pg_pid[$1]}" 2>/dev/null
}

stop_servers() {
	local name
	for name in "${!pg_pid[@]}"; do
		stop_server "$name"
	done
}

# What a host has to publish: files, versions of them, copies.
make_tree() { # DIRECTORY SEED FILES
	python3 - "$@" <<'EOF'
import os, random, sys
top, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed)
os.makedirs(top, exist_ok=True)
words = [''.join(r.choices('abcdefghijklmnopqrstuvwxyz', k=r.randint(2, 9)))
         for _ in range(5000)]
for i in range(count):
    text = [r.choice(words) for _ in range(r.randint(300, 3000))]
    with open(f'{top}/f{i}', 'w') as f:
        f.write(' '.join(text))
    if i % 3 == 0:
        for _ in range(len(text) // 50):
            text[r.randrange(len(text))] = r.choice(words)
        with open(f'{top}/f{i}.v2', 'w') as f:
            f.write(' '.join(text))
EOF
}

publish() { # SERVER MOUNT_OR_CATALOG [OPTION...]: once
	"$KIN_SHARE" --db "$(db "$1")" --once -q "${@:2}"
}

# What the database has of all hosts, as one line a file, without the epochs.
published() { # SERVER
	sql "$1" "SELECT h.label, encode(path, 'escape'), content, size
		FROM kin_copy JOIN kin_host h USING (host)
		JOIN kin_content USING (content) ORDER BY 1, 2, 3"
}

# What the database has that resembles a file, asked without a mount: the lines of
# kin similar --json --everywhere.
everywhere() { # DB FILE
	"$KIN" digest --json "$2" | jq -c 'select(.digests) | {size,
		digests: (.digests | with_entries(.key |= sub("^user."; "")))}' |
		"$KIN_SHARE" ask --db "$1" 2>"$T/errors" |
		jq -cs '(.[:-1][] | .score as $score | .copies[] |
			{score: $score} + if .path_hex then {path_hex} else
				{path: "\(.host):\(.path)"} end),
			{totals: (.[-1] | {complete, reason})}'
}

groups_everywhere() { # DB
	echo '{"relation":"groups","min_size":1}' | "$KIN_SHARE" ask --db "$1" \
		2>"$T/errors"
}

similar_lines() { # kin similar --json to "SCORE PATH" lines
	jq -r 'select(.path) | "\(.score) \(.path)"' | sort
}
