# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# A catalog of made-up contents that a hundred hosts share: how fast it is
# filled, what a content costs, what a question takes, and what of the pairs that
# an index in memory finds is found: on one server, and with postings on twelve,
# of which one is stopped.  The servers are Debian's PostgreSQL, with the usual
# settings for durability.  Part of scripts/bench, which reads this file.

share_pids=()
share_prepare()
{
	local user=postgres

	share_bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V |
		tail -n 1)
	[ -x "$share_bin/initdb" ] || die "share: PostgreSQL is not installed"
	id "$user" >/dev/null 2>&1 || user=nobody
	chmod 711 "$top"
	mkdir -m 755 "$top/share"
	chown "$user" "$top/share"
	share_as=(setpriv --reuid="$user" --regid="$(id -g "$user")"
		--clear-groups)
	[ "$(id -u)" -eq 0 ] || share_as=()
	(cd "$top/share" && "${share_as[@]}" "$share_bin/initdb" -D new \
		-U postgres -A trust >/dev/null) || die "share: initdb"
}

share_conn() # SERVER
{
	echo "host=$top/share/$1 user=postgres dbname=postgres"
}

share_server() # SERVER BUFFERS
{
	local dir=$top/share/$1

	"${share_as[@]}" mkdir "$dir"
	"${share_as[@]}" cp -r "$top/share/new" "$dir/data"
	(cd "$dir" && exec "${share_as[@]}" "$share_bin/postgres" -D data \
		-c listen_addresses= -c unix_socket_directories="$dir" \
		-c shared_buffers="$2" -c max_wal_size=8GB) \
		>"$top/share-$1.log" 2>&1 &
	share_pids+=("$!")
	for _ in {1..300}; do
		"$share_bin/psql" -qAt "$(share_conn "$1")" -c 'SELECT 1' \
			>/dev/null 2>&1 && return
		sleep 0.1
	done
	die "share: the server does not start"
}

share_stop()
{
	local pid

	for pid in "${share_pids[@]}"; do
		kill -QUIT "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
	done
	share_pids=()
}

share_init() # SERVER [OPTION...]
{
	"$(dirname "$kin")/kin-share" init --db "$(share_conn "$1")" \
		"${@:2}" >/dev/null || die "share: init"
}

share_run() # SERVER CONTENTS HOW
{
	"$programs/share" "$(share_conn "$1")" "$2" 2000 "$3" ||
		die "share: the benchmark"
}

# share_spread SERVERS: postings on so many servers.
share_spread()
{
	local i postings=()

	echo "share: $share_spread contents, postings on $1 servers"
	share_server "front-$1" 128MB
	for ((i = 1; i <= $1; i++)); do
		share_server "p$1-$i" "$((512 / $1))MB"
		postings+=(--posting-server "$(share_conn "p$1-$i")")
	done
	share_init "front-$1" "${postings[@]}"
	share_run "front-$1" "$share_spread" copy
	echo "share: one of the $1 is stopped"
	kill -QUIT "${share_pids[2]}"
	wait "${share_pids[2]}" 2>/dev/null
	share_run "front-$1" "$share_spread" ask
	share_stop
}

bench_share()
{
	local servers

	share_prepare
	echo
	echo "share: $share_contents contents of 100 hosts, one PostgreSQL"
	share_server one 2GB
	share_init one
	share_run one "$share_contents" copy
	share_stop
	for servers in 4 12; do
		share_spread "$servers"
	done
}
