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

# ---- a clock that is wrong ----

"$CC" -D_GNU_SOURCE -shared -fPIC -o "$T/wrong_clock.so" \
	tests/e2e/helper/wrong_clock.c
wrong_clock() { # SECONDS COMMAND...
	WRONG_CLOCK=$1 LD_PRELOAD=$T/wrong_clock.so "${@:2}"
}
is "$(wrong_clock 10000000000 bash -c 'printf "%(%Y)T" -1' | cut -c1)" 2 \
	"the clock of a host can be set wrong"
isnt "$(wrong_clock 10000000000 bash -c 'printf "%(%Y)T" -1')" \
	"$(date +%Y)" "by centuries"
for seconds in 10000000000 -1700000000; do
	cp "$T/one/f7" "$T/m1/clock$seconds"
	"$KIN" wait "$T/m1" 2>"$T/output"
	ok "a host whose clock is wrong by $seconds seconds publishes" \
		wrong_clock "$seconds" publish a "$T/m1"
	ok "all of its files" complete
	is "$(wrong_clock "$seconds" everywhere "$(db a)" "$T/one/f0" |
		jq 'select(.totals).totals.complete')" true \
		"and asks"
done
is "$(sql a "SELECT count(*) FROM kin_host
	WHERE abs(extract(epoch FROM now() - seen)) < 86400")" 1 \
	"when a host was seen is told by the clock of the server"

# ---- a disk that is full ----

mkdir "$T/small"
if mount -t tmpfs -o size=4m tmpfs "$T/small" 2>"$T/output"; then
	chown "$PG_USER" "$T/small"
	sql a 'CREATE DATABASE small'
	sql a "CREATE TABLESPACE small LOCATION '$T/small'"
	small="host=$T/pg-a user=postgres dbname=small"
	PGOPTIONS='-c default_tablespace=small' "$KIN_SHARE" init \
		--db "$small" >"$T/output"
	publish_small() {
		"$KIN_SHARE" --db "$small" --once -q "$T/m1"
	}
	listing=$(ls -U "$T/m1/.similar/f0")
	head -c 8m /dev/zero >"$T/small/filler" 2>/dev/null
	refused "a server whose disk is full" 'No space left on device' \
		publish_small
	is "$(ls -U "$T/m1/.similar/f0")" "$listing" \
		"the mount is as it was"
	rm "$T/small/filler"
	ok "when there is room, it goes on" publish_small
	ok "and everything is there" \
		"$KIN_SHARE" check --db "$small" "$T/m1"
	sql a 'DROP DATABASE small'
	sql a 'DROP TABLESPACE small'
	umount "$T/small"
else
	skip "a server whose disk is full" "tmpfs cannot be mounted"
fi

# ---- other hosts ----

# As Citus locks it in a transaction of another host.
sql a "INSERT INTO kin_host (host, epoch, token) VALUES
	('00000000-0000-0000-0000-000000000001', 1, 1)"
mkfifo "$T/hold"
"$PG_BIN/psql" -XqAt "$(db a)" <"$T/hold" >"$T/held" 2>&1 &
pids+=($!)
exec 7>"$T/hold"
echo "BEGIN; SELECT 'held' FROM kin_host WHERE epoch = 1 AND token = 1
	FOR UPDATE; SELECT version FROM kin_meta FOR SHARE;" >&7
poll 20 grep -q held "$T/held"
ok "while another host publishes, this one does, too" \
	publish a "$T/m1" --refill
ok "everything" complete
echo 'ROLLBACK;' >&7
exec 7>&-
sql a "DELETE FROM kin_host WHERE epoch = 1 AND token = 1" >"$T/output"

# The server finds a deadlock, or what it cannot serialise: three times.
sql a "CREATE SEQUENCE tries; CREATE FUNCTION conflict() RETURNS trigger
	LANGUAGE plpgsql AS \$\$ BEGIN IF nextval('tries') < 4 THEN
	RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF;
	RETURN NULL; END \$\$; CREATE TRIGGER conflict AFTER INSERT ON kin_copy
	FOR EACH STATEMENT EXECUTE FUNCTION conflict()" >"$T/output"
ok "a batch that fails by another one is sent again" \
	publish a "$T/m1" --refill
sql a 'DROP TRIGGER conflict ON kin_copy' >"$T/output"
ok "until all is there" complete

# One that stops in the middle of its rows holds up nobody.
stopped_in_copy() {
	[ "$(sql a "SELECT count(*) FROM pg_stat_activity WHERE query ~
		'kin_batch' AND pid <> pg_backend_pid()")" = 1 ]
}
cat >"$T/stop_in_copy.c" <<-'EOF'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <signal.h>
	int PQputCopyEnd(void *conn, const char *message)
	{
		int (*next)(void *, const char *) = dlsym(RTLD_NEXT, "PQputCopyEnd");
		raise(SIGSTOP);
		return next(conn, message);
	}
EOF
"$CC" -shared -fPIC -o "$T/stop_in_copy.so" "$T/stop_in_copy.c"
LD_PRELOAD=$T/stop_in_copy.so "$KIN_SHARE" --db "$(db a)" --once -q --refill \
	"$T/m1" >"$T/output" 2>&1 &
stopped=$!
pids+=("$stopped")
ok "a kin-share stops in the middle of a batch" poll 20 stopped_in_copy
cp -r "$T/one" "$T/two"
mount_kinfs "$T/two" "$T/m2"
"$KIN" wait "$T/m2" 2>"$T/output"
ok "another host publishes the same contents meanwhile" \
	publish a "$T/m2" --label second
ok "and gc does its work" "$KIN_SHARE" gc --db "$(db a)"
kill -KILL "$stopped"
wait "$stopped" 2>/dev/null
ok "after that the first one publishes again" publish a "$T/m1"
ok "all of it" complete
unmount "$T/m2"
"$KIN_SHARE" forget --db "$(db a)" second >"$T/output"

# ---- many contents ----

sql a "INSERT INTO kin_content (content, size) SELECT
	md5(n::text)::uuid, 1000 FROM generate_series(1, 300000) n;
	INSERT INTO kin_copy (content, host, file, epoch) SELECT
	md5(n::text)::uuid, md5('a host')::uuid, '\\x00', 1
	FROM generate_series(20001, 300000) n; ANALYZE" >"$T/output"
start=$(date +%s%N)
is "$("$KIN_SHARE" gc --db "$(db a)")" \
	'20000 contents that nobody has were removed' \
	"gc removes 20,000 of 300,000 contents"
printf '# in %d ms\n' $((($(date +%s%N) - start) / 1000000))
is "$(sql a 'SELECT count(*) >= 280000 FROM kin_content')" t "and no others"
sql a "DELETE FROM kin_copy WHERE host = md5('a host')::uuid;
	DELETE FROM kin_content WHERE size = 1000" >"$T/output"

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
# A server with a certificate, and one that says to be the other.
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
	-keyout "$T/key.pem" -out "$T/cert.pem" 2>"$T/output"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
	-keyout "$T/other.key" -out "$T/other.pem" 2>"$T/output"
chown "$PG_USER" "$T/key.pem"
chmod 600 "$T/key.pem"
stop_server tcp
start_server tcp listen_addresses=127.0.0.1 "port=${pg_port[tcp]}" ssl=on \
	"ssl_cert_file=$T/cert.pem" "ssl_key_file=$T/key.pem"
with_tls() { # HOST ROOT COMMAND...
	"$KIN_SHARE" "${@:3}" --db "host=$1 hostaddr=127.0.0.1
		port=${pg_port[tcp]} user=postgres dbname=postgres
		sslmode=verify-full sslrootcert=$2"
}
ok "with TLS, init" with_tls localhost "$T/cert.pem" init
ok "with TLS it publishes" with_tls localhost "$T/cert.pem" --once -q "$T/m1"
refused "a certificate that nobody vouches for" 'certificate verify failed' \
	with_tls localhost "$T/other.pem" --once "$T/m1"
refused "a certificate of another host" 'does not match host name' \
	with_tls example.org "$T/cert.pem" --once "$T/m1"
sql a "CREATE ROLE ada LOGIN PASSWORD 'secret'; CREATE ROLE reader LOGIN;
	CREATE ROLE writer LOGIN" >"$T/output"
sed -i '1i local all ada scram-sha-256' "$T/pg-a/data/pg_hba.conf"
sql a 'SELECT pg_reload_conf()' >"$T/output"
wrong_password() {
	PGPASSWORD=guess "$KIN_SHARE" --once --db \
		"host=$T/pg-a user=ada dbname=postgres" "$T/m1"
}
refused "a wrong password" 'password authentication failed' wrong_password
unlike "$ERRORS" 'guess' "which is not printed"
sql a 'ALTER ROLE ada CONNECTION LIMIT 0' >"$T/output"
like "$(everywhere "host=$T/pg-a user=ada
	dbname=postgres password=secret" "$T/one/f0" |
	jq -r 'select(.totals).totals.reason')" \
	'too many connections' "a question tells what the server says"
sql a "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader" >"$T/output"
reader="host=$T/pg-a user=reader dbname=postgres"
refused "a role that may only read" 'permission denied' \
	"$KIN_SHARE" --once --refill --db "$reader" "$T/m1"
like "$(everywhere "$reader" "$T/one/f0" |
	jq -c '.score // .totals.complete' | tr '\n' ' ')" '^100 [0-9]+ true $' \
	"may ask"
publish a "$T/m1"
# A server says what it likes; U+202E turns the rest of a line round.
sql a "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN
	RAISE NOTICE E'\\033[2Jnoticed';
	RAISE EXCEPTION E'an \\033[2J error \\u202E of the server';
	END \$\$; CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON kin_copy
	EXECUTE FUNCTION shout()" >"$T/output"
refused "an error of the server has no power over a terminal" \
	'an \\033\[2J error \\342\\200\\256 of the server' \
	publish a "$T/m1" --refill
unlike "$ERRORS" 'noticed' "and what it remarks is not printed"
sql a 'DROP TRIGGER shout ON kin_copy' >"$T/output"
sql a 'UPDATE kin_meta SET version = 99' >"$T/output"
refused "tables of another version" 'of version 99' publish a "$T/m1"
sql a 'UPDATE kin_meta SET version = 2' >"$T/output"
refused "older ones, with the way out" 'init --replace' publish a "$T/m1"
ok "init --replace makes them anew" "$KIN_SHARE" init --replace --db "$(db a)"
ok "which are filled again" publish a "$T/m1"
ok "with everything" complete
refused "something that is no mount" 'neither a mount' publish a "$T"
refused "no database" 'which database' "$KIN_SHARE" "$T/m1"
ok "after all that the catalog is in order" "$KIN" check "$T/m1"
stop_servers
finish
