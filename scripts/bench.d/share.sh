# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# A catalog of made-up contents that a hundred hosts share: how fast it is
# filled, what a content costs, what a question takes, and what of the pairs that
# an index in memory finds is found with all postings, and without those of one
# server in twelve.  The server is Debian's PostgreSQL, with its usual settings
# for durability.  Part of scripts/bench, which reads this file.

share_server()
{
	local bin user=postgres

	bin=$(find /usr/lib/postgresql -maxdepth 2 -name bin | sort -V |
		tail -n 1)
	[ -x "$bin/initdb" ] || die "share: PostgreSQL is not installed"
	id "$user" >/dev/null 2>&1 || user=nobody
	chmod 711 "$top"
	mkdir -m 755 "$top/share"
	chown "$user" "$top/share"
	share_as=(setpriv --reuid="$user" --regid="$(id -g "$user")"
		--clear-groups)
	[ "$(id -u)" -eq 0 ] || share_as=()
	(cd "$top/share" && "${share_as[@]}" "$bin/initdb" -D data -U postgres \
		-A trust >/dev/null) || die "share: initdb"
	(cd "$top/share" && exec "${share_as[@]}" "$bin/postgres" -D data \
		-c listen_addresses= -c unix_socket_directories="$top/share" \
		-c shared_buffers=2GB -c max_wal_size=8GB) >"$top/share.log" 2>&1 &
	share_pid=$!
	share_db="host=$top/share user=postgres dbname=postgres"
	for _ in {1..300}; do
		"$bin/psql" -qAt "$share_db" -c 'SELECT 1' >/dev/null 2>&1 &&
			return
		sleep 0.1
	done
	die "share: the server does not start"
}

share_stop()
{
	[ -n "${share_pid-}" ] || return 0
	kill -QUIT "$share_pid"
	wait "$share_pid" 2>/dev/null
	share_pid=
}

bench_share()
{
	echo
	echo "share: $share_contents contents of 100 hosts, one PostgreSQL"
	share_server
	"$(dirname "$kin")/kin-share" init --db "$share_db" >/dev/null ||
		die "share: init"
	"$programs/share" "$share_db" "$share_contents" 2000 ||
		die "share: the benchmark"
	share_stop
}
