#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A thousand hosts reach a server through pgbouncer, whose transaction mode gives
# a connection to another client after each transaction: no state of a session
# outlives one.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/helper/share.sh disable=SC1091
. tests/e2e/helper/share.sh

start_pooler() { # SERVER: as the server "pool", of two connections
	mkdir -m 755 "$T/pg-pool"
	chown "$PG_USER" "$T/pg-pool"
	pg_port[pool]=6432
	cat >"$T/pgbouncer.ini" <<-END
		[databases]
		postgres = $(db "$1") pool_size=2
		[pgbouncer]
		pool_mode = transaction
		auth_type = any
		unix_socket_dir = $T/pg-pool
		listen_addr =
		listen_port = 6432
	END
	PATH=$PATH:/usr/sbin as_pg pgbouncer -q "$T/pgbouncer.ini" </dev/null >"$T/pooler.log" 2>&1 &
	pids+=($!)
	poll 30 answers pool || bail "pgbouncer starts" "$(cat "$T/pooler.log")"
}

make_tree "$T/one" 1 40
make_tree "$T/two" 2 20
cp "$T/one/f3" "$T/two/copy"
mount_kinfs "$T/one" "$T/m1"
mount_kinfs "$T/two" "$T/m2"
ok "two hosts are hashed" wait_idle "$T/m1"
wait_idle "$T/m2"
start_server a
start_pooler a

ok "the tables are made through the pooler" \
	"$KIN_SHARE" init --db "$(db pool)"
ok "a host is published" publish pool "$T/m1" --label one
publish pool "$T/m1" --label one &
ok "two at once" publish pool "$T/m2" --label two
wait $!
is "$(sql a "SELECT label, count(*) FROM kin_copy JOIN kin_host USING (host)
	GROUP BY label ORDER BY label")" \
	"one|$(find "$T/one" -type f | wc -l)"$'\n'"two|$(
		find "$T/two" -type f | wc -l)" "every file of both is there"
is "$(everywhere "$(db pool)" "$T/one/f3" | similar_lines)" \
	"$(everywhere "$(db a)" "$T/one/f3" | similar_lines)" \
	"an answer is that of the server itself"
is "$(groups_everywhere "$(db pool)" | jq -c '.totals // empty |
	[.groups, .files]')" '[1,2]' "groups, too"
rm "$T/m1/f3"
wait_idle "$T/m1"
ok "a change is published" publish pool "$T/m1" --label one
ok "a host is forgotten" "$KIN_SHARE" forget --db "$(db pool)" two
ok "contents that nobody has are removed" \
	"$KIN_SHARE" gc --db "$(db pool)"
is "$(sql a "SELECT count(*) FROM kin_content")" \
	"$(sql a "SELECT count(DISTINCT content) FROM kin_copy")" \
	"... all of them"
ok "the tables are checked" "$KIN_SHARE" check --db "$(db pool)" "$T/m1"

finish
