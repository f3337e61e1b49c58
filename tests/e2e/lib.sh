# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# What every end-to-end test starts with: a private directory $T, programs,
# mounts that go away by themselves, and TAP.  Sourced from the repository
# root by a bash script; nothing in $T outlives the test, nothing outside of
# it is touched.

set -u
export LC_ALL=C
umask 022

KINFS=$(realpath -m "${KINFS:-build/kinfs}")
KIN=$(realpath -m "${KIN:-build/kin}")
CC=${CC:-cc}
HELPERS=$PWD/tests/e2e/helper

ATTRIBUTES= # names of the default set, see default_attributes
ERRORS=     # what the last refused command said

count=0
failures=0
daemons=0
declare -A pid_of=() log_of=()
pids=()

# ---- TAP ----

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

report() { # RESULT NAME: one line of TAP; fails like RESULT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		printf 'ok %d - %s\n' "$count" "$2"
	else
		printf 'not ok %d - %s\n' "$count" "$2"
		failures=$((failures + 1))
	fi
	return "$1"
}

skip() { # NAME WHY: only for what the machine cannot do
	count=$((count + 1))
	printf 'ok %d - %s # SKIP %s\n' "$count" "$1" "$2"
}

# The command runs in this shell: it may change its variables.
ok() { # NAME COMMAND...: the command succeeds
	"${@:2}" >"$T/output" 2>&1
	report "$?" "$1" && return
	diag "failed: ${*:2}"
	diag "$(shorten "$(cat "$T/output")")"
	return 1
}

not_ok() { # NAME COMMAND...: the command fails
	if ! "${@:2}" >"$T/output" 2>&1; then
		report 0 "$1"
		return
	fi
	report 1 "$1"
	diag "succeeded: ${*:2}"
	diag "$(shorten "$(cat "$T/output")")"
	return 1
}

is() { # HAVE WANT NAME
	local result=0
	[ "$1" = "$2" ] || result=1
	report "$result" "$3" && return
	diag "want: $(shorten "$2")"
	diag "have: $(shorten "$1")"
	return 1
}

isnt() { # HAVE UNWANTED NAME
	local result=0
	[ "$1" != "$2" ] || result=1
	report "$result" "$3" && return
	diag "unwanted: $(shorten "$1")"
	return 1
}

like() { # HAVE REGEX NAME
	local result=0
	[[ $1 =~ $2 ]] || result=1
	report "$result" "$3" && return
	diag "want: /$2/"
	diag "have: $(shorten "$1")"
	return 1
}

unlike() { # HAVE REGEX NAME
	local result=0
	[[ $1 =~ $2 ]] && result=1
	report "$result" "$3" && return
	diag "unwanted: /$2/"
	diag "have: $(shorten "$1")"
	return 1
}

between() { # HAVE LEAST MOST NAME
	local result=1
	[[ $1 =~ ^[0-9]+$ ]] && [ "$((10#$1))" -ge "$2" ] &&
		[ "$((10#$1))" -le "$3" ] && result=0
	report "$result" "$4" && return
	diag "want: $2..$3"
	diag "have: $1"
	return 1
}

same() { # NAME HAVE_FILE WANT_FILE: shows what differs
	local out
	if out=$(diff "$3" "$2" 2>&1); then
		report 0 "$1"
		return
	fi
	report 1 "$1"
	diag "$(head -n 20 <<<"$out")"
	return 1
}

# The command fails, and says so on stderr with these words.
refused() { # NAME REGEX COMMAND...
	local name=$1 words=$2 status=0
	shift 2
	ERRORS=$("$@" 2>&1 >/dev/null) || status=$?
	if [ "$status" -ne 0 ] && [ "$status" -lt 124 ] &&
		[[ $ERRORS =~ $words ]]; then
		report 0 "$name"
		return
	fi
	report 1 "$name"
	diag "want: failure and /$words/"
	diag "have: exit $status, $(shorten "$ERRORS")"
	return 1
}

shorten() {
	head -c 1500 <<<"$1" | tr -c '[:print:]\n' '?'
}

bail() { # the test cannot go on, and that is a failure
	report 1 "$1"
	shift
	diag "$@"
	printf '1..%d\n' "$count"
	exit 1
}

finish() { # the last line of every test
	printf '1..%d\n' "$count"
	[ "$failures" -eq 0 ]
	exit
}

# ---- waiting ----

# The time is that of a machine with nothing else to do.  A busy one gets ten
# times as much: what comes late is right, and only what never comes is wrong.
poll() { # SECONDS COMMAND...: until it succeeds, at most that long
	local end=$((SECONDS + 10 * $1 + 1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		pause
	done
}

# No process is started for it: much time goes by in poll.
pause() {
	read -rt 0.02 <>"$T/silence" || :
}

gone() { # PID
	! kill -0 "$1" 2>/dev/null
}

# ---- the private directory ----

private_directory() {
	local base=${TMPDIR:-/tmp}
	case $(stat -f -c %T "$base") in
	tmpfs | ramfs | overlayfs) [ -n "${TMPDIR:-}" ] || base=/var/tmp ;;
	esac
	T=$(mktemp -d "$base/kinfs-e2e.XXXXXXXX") || exit 1
	T=$(realpath "$T")
	chmod 755 "$T"
	mkfifo "$T/silence"
}

mounts_below() { # DIRECTORY: mount points in it, the last mounted first
	awk -v top="$1/" 'index($5, top) == 1 { print $5 }' \
		/proc/self/mountinfo | tac
}

end_process() { # PID
	kill "$1" 2>/dev/null || return 0
	poll 5 gone "$1" || kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# The number of one that has ended may be somebody else's by now.
is_child() { # PID
	grep -qs "^PPid:[[:space:]]*$$\$" "/proc/$1/status"
}

# Daemons that went to the background by themselves, known by the private
# directory on their command line.
background_daemons() {
	local dir
	for dir in /proc/[0-9]*; do
		[ "$dir/exe" -ef "$KINFS" ] &&
			tr '\0' ' ' <"$dir/cmdline" 2>/dev/null |
			grep -qF "$T/" &&
			[ "$(cat "$dir/comm" 2>/dev/null)" != kin-starter ] &&
			echo "${dir#/proc/}"
	done
	return 0
}

clean_up() {
	local point pid
	[ "$BASHPID" = "$$" ] || return # a child that was killed early
	trap '' HUP INT TERM
	cd / || exit 1
	for point in $(mounts_below "$T"); do
		fusermount3 -u -q "$point" 2>/dev/null ||
			umount "$point" 2>/dev/null ||
			umount -l "$point" 2>/dev/null
	done
	for pid in "${pids[@]}"; do
		! is_child "$pid" || end_process "$pid"
	done
	for pid in $(background_daemons); do
		end_process "$pid"
	done
	chmod -R u+rwX "$T" 2>/dev/null
	rm -rf --one-file-system "$T"
}

# An ordinary user must be able to open /dev/fuse.  Where it is root's alone,
# the test runs once more in a mount namespace of its own, which has a device
# node for everybody; there it may also mount what it likes.  Mounts of others
# that came along would live on here when they are unmounted there.
private_namespace() {
	local point
	if [ -n "${PRIVATE_NAMESPACE:-}" ]; then
		for point in $(awk '/ - fuse[. ]/ { print $5 }' \
			/proc/self/mountinfo | tac); do
			umount -l "$point"
		done
		return
	fi
	export PRIVATE_NAMESPACE=1
	rm -r "$T"
	exec unshare -m --propagation private bash "$0"
}

open_fuse_to_all() {
	local why
	as_nobody test -r /dev/fuse -a -w /dev/fuse && return
	why=$(as_nobody ls -l /dev/fuse 2>&1)
	mkdir -p "$T/dev"
	mount -t tmpfs -o mode=755 tmpfs "$T/dev" &&
		mknod -m 666 "$T/dev/fuse" c 10 229 &&
		mount --bind "$T/dev/fuse" /dev/fuse &&
		as_nobody test -w /dev/fuse && return
	bail "/dev/fuse is open to an ordinary user" "it is not: $why" \
		"and a node of its own could not be made"
}

[ "$(id -u)" -eq 0 ] || bail "the test runs as root" \
	"it mounts, changes owners and makes devices, and cannot else"
private_directory
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# ---- mounts ----

mounted() { # DIRECTORY
	local lines line
	mapfile -t lines </proc/self/mountinfo
	for line in "${lines[@]}"; do
		[[ $line =~ ^([^\ ]+\ ){4}"$1"\  ]] && return
	done
	return 1
}

mounted_or_gone() { # DIRECTORY PID
	mounted "$1" || gone "$2"
}

has_db() { # OPTIONS...
	local option
	for option; do
		[[ $option =~ (^|,)db= ]] && return 0
	done
	return 1
}

catalog_of() { # MOUNTPOINT: the directory of its catalog
	printf '%s\n' "$T/db-${1##*/}"
}

# Starts the daemon and waits for the mount; 1 when there is none.  The
# catalog of a mount point stays the same over remounts.
try_mount() { # SOURCE MOUNTPOINT [OPTIONS...]
	local source=$1 point=$2 log pid
	shift 2
	daemons=$((daemons + 1))
	log=$T/daemon-$daemons.log
	has_db "$@" || set -- "$@" -o "db=$(catalog_of "$point")"
	# Looking for leaks takes a process that traces the daemon.
	! grep -q __asan_init "$KINFS" || set -- -o sandbox=no "$@"
	mkdir -p "$source" "$point"
	"$KINFS" -f "$source" "$point" "$@" </dev/null >"$log" 2>&1 &
	pid=$!
	pids+=("$pid")
	pid_of[$point]=$pid
	log_of[$point]=$log
	poll 20 mounted_or_gone "$point" "$pid"
	mounted "$point" && ! gone "$pid" &&
		timeout 600 stat -f "$point" >/dev/null 2>&1
}

# Without the flags and the jobs of the make that runs the tests.
run_make() { # TARGET [VARIABLE=VALUE...]
	env -u MAKEFLAGS -u MAKELEVEL make -s "$@"
}

mount_kinfs() { # SOURCE MOUNTPOINT [OPTIONS...]
	try_mount "$@" && return
	bail "mount $*" "the daemon said: $(cat "${log_of[$2]}")"
}

daemon_pid() { # MOUNTPOINT
	printf '%s\n' "${pid_of[$1]}"
}

daemon_log() { # MOUNTPOINT
	cat "${log_of[$1]}"
}

alive() { # MOUNTPOINT: the daemon runs and answers
	! gone "${pid_of[$1]}" && timeout 600 stat -f "$1" >/dev/null
}

# 0 when the daemon then ended by itself with exit status 0.
unmount() { # MOUNTPOINT
	local pid=${pid_of[$1]} status=0
	poll 10 fusermount3 -u "$1" || {
		echo "fusermount3 -u: $(fusermount3 -u "$1" 2>&1)"
		return 1
	}
	poll 20 gone "$pid" || {
		echo "the daemon stays: $(head -c 500 "/proc/$pid/stack")"
		return 1
	}
	wait "$pid" || status=$?
	[ "$status" -eq 0 ] || echo "the daemon's exit status: $status," \
		"its words: $(daemon_log "$1")"
	return "$status"
}

crash() { # MOUNTPOINT: leaves it dead
	kill -KILL "${pid_of[$1]}"
	wait "${pid_of[$1]}" 2>/dev/null
	return 0
}

kill_daemon() { # MOUNTPOINT
	crash "$1"
	fusermount3 -u -z "$1" 2>/dev/null || umount -l "$1"
}

# Exit status 3: idle, but some files could not be hashed.
wait_idle() { # MOUNTPOINT
	local status=0
	timeout 600 "$KIN" wait "$1" >/dev/null 2>"$T/wait.err" || status=$?
	[ "$status" -ne 0 ] && [ "$status" -ne 3 ] || return 0
	bail "kin wait $1" "$(cat "$T/wait.err" "${log_of[$1]}")"
}

rescan() { # MOUNTPOINT
	timeout 600 "$KIN" rescan "$1" >/dev/null || return
	wait_idle "$1"
}

status_json() { # MOUNTPOINT
	getx "$1" user.kinfs.status
}

# "hashed.files" is of the object "hashed".  true is 1, false 0, null nothing.
status_field() { # MOUNTPOINT NAME
	local text
	text=$(status_json "$1")
	text=${text#\{}
	if [[ $2 = *.* ]]; then
		text=${text#*"\"${2%.*}\": {"}
		text=${text%%\}*}
	fi
	while [[ $text =~ (.*)\{[^{}]*\}(.*) ]]; do
		text=${BASH_REMATCH[1]}${BASH_REMATCH[2]}
	done
	[[ $text =~ \""${2#*.}"\":\ ([^,}]*) ]] || return
	case ${BASH_REMATCH[1]} in
	true) echo 1 ;;
	false) echo 0 ;;
	null) ;;
	*) printf '%s\n' "${BASH_REMATCH[1]//\"/}" ;;
	esac
}

# ---- attributes and digests ----

getx() { # FILE NAME
	getfattr --absolute-names --only-values -n "$2" -- "$1" \
		2>/dev/null
}

state() { # FILE
	getx "$1" user.kinfs.state
}

names() { # FILE: its attributes, sorted
	getfattr --absolute-names -m - -- "$1" 2>/dev/null |
		grep -v '^#' | grep . | sort
}

digest() { # FILE NAME: of what cat gives, worked out without the mount
	cat -- "$1" | "$KIN" digest -a "$2" - | sed 's/  -$//'
}

# What kin works out by default is what a mount shows by default.
default_attributes() {
	echo something >"$T/something"
	ATTRIBUTES=$("$KIN" digest "$T/something" |
		sed -n 's/^\(user\.[^=]*\)=.*/\1/p')
	[ -n "$ATTRIBUTES" ] || bail "kin digest prints attributes" "nothing"
}

# Every default digest of FILE is that of the content a reader gets.
digests_match() { # FILE
	local name have want
	[ -n "$ATTRIBUTES" ] || default_attributes
	for name in $ATTRIBUTES; do
		have=$(getx "$1" "$name")
		want=$(digest "$1" "$name")
		[ -n "$want" ] && [ "$have" = "$want" ] && continue
		echo "$name of $1: want $want, have $have," \
			"state $(state "$1")"
		return 1
	done
}

# What the kernel answers, by name: errno_of getx FILE NAME -> "ENODATA", or
# "ok".  See helper/sys.c for what else it can ask.
errno_of() {
	"$(helper sys)" "$@"
}

# ---- content that is the same in every run ----

random_bytes() { # SEED: without an end, of input without an end
	local key
	printf -v key %032x "$1"
	openssl enc -aes-128-ctr -K "$key" -iv "${key//?/0}" 2>/dev/null
}

gen() { # BYTES SEED: random bytes
	head -c "$1" /dev/zero | random_bytes "$2"
}

gen_random_files() { # SEED: of stdin each line is a size and a name
	perl -e 'open my $random, "<", shift or die;
		while (<STDIN>) {
			my ($size, $name) = split;
			open my $to, ">", $name or die "$name: $!";
			read($random, my $bytes, $size) == $size or die;
			print $to $bytes;
		}' <(random_bytes "$1" </dev/zero)
}

gen_text() { # LINES SEED: about 60 bytes a line, no line like another
	awk -v parts="$1:$2" -f "$HELPERS/text.awk"
}

# The text on stdin with PERCENT of its lines replaced.
edit_text() { # PERCENT SEED
	awk -v parts="$1~$2=-" -f "$HELPERS/text.awk"
}

# Many texts by one process.  Of stdin each line is the name of a file and its
# parts, as helper/text.awk has them: "a.c =licence 12:7" is a copy of the file
# licence, and the twelve lines of gen_text 12 7.
gen_files() {
	awk -f "$HELPERS/text.awk"
}

# ---- helper programs ----

helper() { # NAME: prints where the compiled program is
	local program=$T/helper-$1
	[ -x "$program" ] ||
		"$CC" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra \
			-o "$program" "$HELPERS/$1.c" >&2 || return 1
	printf '%s\n' "$program"
}

# DIRECTORY at MOUNTPOINT, but for what $T/faults says; see helper/faulty.c.
mount_faulty() { # DIRECTORY MOUNTPOINT OPTIONS...
	local program=$T/helper-faulty
	# shellcheck disable=SC2046 # options
	[ -x "$program" ] ||
		"$CC" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -o "$program" \
			-DFUSE_USE_VERSION=314 "$HELPERS/faulty.c" \
			$(pkg-config --cflags --libs fuse3) || return
	"$program" "$1" "$T/faults" -f -o attr_timeout=0,entry_timeout=0 \
		-o negative_timeout=0 "${@:2}" >"$T/faulty.log" 2>&1 &
	pids+=("$!")
	pid_of[$2]=$!
	poll 20 mounted "$2"
}

# The checkout may lie where another user cannot go: puts copies of the
# programs where anybody can.
share_programs() {
	mkdir -p "$T/bin"
	cp "$KINFS" "$T/bin/kinfs"
	cp "$KIN" "$T/bin/kin"
	cp "$(dirname "$KIN")/kin-share" "$T/bin/kin-share"
	KINFS=$T/bin/kinfs
	KIN=$T/bin/kin
}

# Users without names, who may run the programs in $T and those of helper().
ada=60001
bob=60002

as() { # UID GROUPS COMMAND...: GROUPS is a number, or none
	local groups=--groups=$2
	[ "$2" != none ] || groups=--clear-groups
	setpriv --reuid="$1" --regid="$1" "$groups" -- "${@:3}"
}

as_ada() { # COMMAND...
	as "$ada" none "$@"
}

as_bob() { # COMMAND...
	as "$bob" none "$@"
}

as_nobody() { # COMMAND...
	as 65534 none "$@"
}
