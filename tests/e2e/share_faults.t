#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What can go wrong between a host and the database: the database ends right,
# and messages say what is to be done.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
# shellcheck source=tests/e2e/helper/share.sh disable=SC1091
. tests/e2e/helper/share.sh

make_tree "$T/one" 1 30
mount_kinfs "$T/one" "$T/m1"
"$KIN" wait "$T/m1" 2>"$T/output"
start_server a
"$KIN_SHARE" init --db "$(db a)" >"$T/output"

complete() { "$KIN_SHARE" check --db "$(db a)" "$T/m1"; }
files=$(find "$T/one" -type f | wc -l)

# ---- a connection that is cut ----

mkdir "$T/proxy"
echo 0 >"$T/limit"
python3 tests/e2e/helper/cut.py "$T/proxy/.s.PGSQL.5432" \
	"$T/pg-a/.s.PGSQL.5432" "$T/limit" &
pids+=($!)
poll 10 test -S "$T/proxy/.s.PGSQL.5432"
through="host=$T/proxy user=postgres dbname=postgres gssencmode=disable"
cut_publish() { # BYTES
	echo "$1" >"$T/limit"
	timeout 60 "$KIN_SHARE" --db "$through" --once -q "$T/m1" \
		>"$T/output" 2>&1
}
wrong=0
failed=0
for ((n = 1; n < 1200; n += 23)); do
	cut_publish "$n" || failed=$((failed + 1))
	# A batch is there as a whole or not at all.
	case $(sql a 'SELECT count(*) FROM kin_copy') in
	0 | "$files") ;;
	*) wrong=$((wrong + 1)) ;;
	esac
done
isnt "$failed" 0 "connections were cut while it published"
is "$wrong" 0 "each batch was there as a whole or not at all"
ok "then it publishes" cut_publish 0
ok "and everything is there" complete

wrong=0
incomplete=0
for ((n = 1; n < 8000; n += 151)); do
	echo "$n" >"$T/limit"
	timeout 60 "$KIN" similar --json --everywhere --db "$through" \
		--of "$T/one/f0" >"$T/answer" 2>"$T/errors"
	case $?:$(jq .complete "$T/answer") in
	0:true) [ "$(jq '.similar | length' "$T/answer")" = 2 ] ||
		wrong=$((wrong + 1)) ;;
	3:false) incomplete=$((incomplete + 1)) ;;
	*) wrong=$((wrong + 1)) ;;
	esac
done
isnt "$incomplete" 0 "questions were cut"
is "$wrong" 0 "a cut answer never passes for a complete one"

# ---- a kin-share that is killed ----

killed=0
for ((n = 0; n < 200; n++)); do
	[ $((n % 20)) -ne 0 ] || sql a 'TRUNCATE kin_host, kin_copy' >"$T/output"
	"$KIN_SHARE" --db "$(db a)" --once -q "$T/m1" >"$T/output" 2>&1 &
	pid=$!
	sleep "$(printf '0.%04d' $((n * 2 % 400)))"
	! kill -KILL "$pid" 2>/dev/null || killed=$((killed + 1))
	wait "$pid" 2>/dev/null
done
isnt "$killed" 0 "it was killed while it published"
ok "it goes on" publish a "$T/m1"
ok "and everything is there" complete
is "$(sql a 'SELECT count(*) FROM kin_host')" 1 "as one host"

# ---- a server that is killed ----

for ((n = 0; n < 5; n++)); do
	sql a 'TRUNCATE kin_host, kin_copy, kin_content, kin_posting' \
		>"$T/output"
	publish a "$T/m1" >"$T/output" 2>&1 &
	pid=$!
	sleep "0.0$n"
	kill_server a
	wait "$pid"
	start_server a
done
ok "after a server that was killed" publish a "$T/m1"
ok "everything is there" complete

# ---- old and new states ----

sql a 'TRUNCATE kin_host, kin_copy, kin_content, kin_posting' >"$T/output"
ok "a database that was emptied" publish a "$T/m1"
ok "is filled again" complete

# A host that is restored: its state is of yesterday, and the files are, too.
unmount "$T/m1"
cp -a "$(catalog_of "$T/m1")" "$T/backup"
cp -a "$T/one" "$T/one.backup"
mount_kinfs "$T/one" "$T/m1"
make_tree "$T/m1/today" 7 10
"$KIN" wait "$T/m1" 2>"$T/output"
publish a "$T/m1"
unmount "$T/m1"
rm -r "$(catalog_of "$T/m1")" "$T/one/today"
cp -a "$T/backup" "$(catalog_of "$T/m1")"
ok "a host that went back to a backup" publish a "$(catalog_of "$T/m1")"
is "$(sql a "SELECT count(*) FROM kin_copy WHERE path LIKE '%/today/%'")" 0 \
	"withdraws what it published meanwhile"
ok "and has what it had" \
	"$KIN_SHARE" check --db "$(db a)" "$(catalog_of "$T/m1")"

# The database goes back to a backup.
sql a 'CREATE TABLE old_host AS TABLE kin_host;
	CREATE TABLE old_copy AS TABLE kin_copy' >"$T/output"
mount_kinfs "$T/one" "$T/m1"
cp "$T/one/f1" "$T/m1/another"
rm "$T/m1/f2"
"$KIN" wait "$T/m1" 2>"$T/output"
publish a "$T/m1"
sql a 'TRUNCATE kin_host, kin_copy;
	INSERT INTO kin_host TABLE old_host;
	INSERT INTO kin_copy TABLE old_copy' >"$T/output"
ok "a database that went back to a backup" publish a "$T/m1"
ok "gets what is new" complete

# Times that no clock shows.
touch -d '0001-01-01 UTC' "$T/m1/f4"
touch -d '2400-01-01 UTC' "$T/m1/f5"
"$KIN" wait "$T/m1" 2>"$T/output"
ok "files of impossible times" publish a "$T/m1"
ok "are published" complete

# ---- messages ----

refused "no server" 'No such file|Connection refused|could not connect' \
	"$KIN_SHARE" --db "host=$T/nowhere" --once "$T/m1"
refused "a service that is not defined" 'service' \
	"$KIN_SHARE" --db 'service=none_such' --once "$T/m1"
pg_port[tcp]=$(python3 -c 'import socket
s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start_server tcp listen_addresses=127.0.0.1 "port=${pg_port[tcp]}"
refused "no TLS where it is asked for" 'does not support SSL' "$KIN_SHARE" \
	--db "host=127.0.0.1 port=${pg_port[tcp]} user=postgres
		dbname=postgres sslmode=verify-full" \
	--once "$T/m1"
sql a "CREATE ROLE ada LOGIN PASSWORD 'secret'; CREATE ROLE reader LOGIN;
	CREATE ROLE writer LOGIN" >"$T/output"
sed -i '1i local all ada scram-sha-256' "$T/pg-a/data/pg_hba.conf"
sql a 'SELECT pg_reload_conf()' >"$T/output"
as_ada() {
	PGPASSWORD=guess "$KIN_SHARE" --once --db \
		"host=$T/pg-a user=ada dbname=postgres" "$T/m1"
}
refused "a wrong password" 'password authentication failed' as_ada
unlike "$ERRORS" 'guess' "which is not printed"
sql a "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader" >"$T/output"
reader="host=$T/pg-a user=reader dbname=postgres"
refused "a role that may only read" 'permission denied' \
	"$KIN_SHARE" --once --refill --db "$reader" "$T/m1"
is "$("$KIN" similar --json --everywhere --db "$reader" --of "$T/one/f0" |
	jq '.complete, (.similar | length)')" true$'\n'2 "may ask"
publish a "$T/m1"
sql a 'UPDATE kin_meta SET version = 99' >"$T/output"
refused "tables of another version" 'of version 99' publish a "$T/m1"
sql a 'UPDATE kin_meta SET version = 2' >"$T/output"
refused "something that is no mount" 'neither a mount' publish a "$T/one"
refused "no database" 'which database' "$KIN_SHARE" "$T/m1"
ok "after all that the catalog is in order" "$KIN" check "$T/m1"
stop_servers
finish
