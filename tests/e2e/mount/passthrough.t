#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The mount behaves as the directory below it: the same work is done on the
# mount and on a plain directory, and the results are compared.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

src=$T/src
mnt=$T/mnt
plain=$T/plain

export HOME=$T GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=$T/gitconfig

# The same command in a directory of the mount and in a plain one.
both() { # COMMAND...
	local where
	for where in "$mnt" "$plain"; do
		(cd "$where" && "$@") || {
			echo "failed in $where: $*"
			return 1
		}
	done
}

equal() { # NAME DIRECTORY [OPTION]: all but the times of the two are equal
	local out
	out=$(rsync -naHAXi --checksum --delete "${3:---no-times}" \
		"$plain/$2/" "$src/$2/" 2>&1)
	is "$out" "" "$1"
}

make_project() { # a C program of some files, in $T/project
	local n
	mkdir -p "$T/project/lib"
	for n in 1 2 3 4 5 6 7 8; do
		printf 'int f%d(int x) { return x + %d; }\n' "$n" "$n" \
			>"$T/project/lib/f$n.c"
	done
	{
		printf '#include <stdio.h>\n'
		printf 'int f%d(int);\n' 1 2 3 4 5 6 7 8
		printf 'int main(void) { printf("%%d\\n", f1(f2(f3(f4('
		printf 'f5(f6(f7(f8(0))))))))); return 0; }\n'
	} >"$T/project/main.c"
	# shellcheck disable=SC2016 # for make
	printf '%s\n' 'objects = main.o $(patsubst %.c,%.o,$(wildcard lib/*.c))' \
		'program: $(objects); $(CC) -o $@ $(objects)' \
		'%.o: %.c; $(CC) -c -o $@ $<' >"$T/project/Makefile"
	ln -s main.c "$T/project/link"
	ln "$T/project/main.c" "$T/project/hard"
	mkdir "$T/project/sticky"
	chmod 1777 "$T/project/sticky"
	touch -d '1999-12-31 23:59:59.123456789' "$T/project/lib/f1.c"
	setfattr -n user.note -v hello "$T/project/lib/f2.c"
	setfacl -m u:12345:r "$T/project/lib/f3.c"
	tar -C "$T" --xattrs --acls -cf "$T/project.tar" project
}

test_untar() {
	make_project
	ok "untar" both tar --xattrs --acls -xpf "$T/project.tar"
	equal "gives the same tree" project --times
	ok "diff -r through the mount" diff -r "$mnt/project" "$plain/project"
	is "$(cd "$mnt/project" && find . -printf '%p %y %s %m %n %U %G %T@ %b\n' |
		sort)" "$(cd "$src/project" &&
		find . -printf '%p %y %s %m %n %U %G %T@ %b\n' | sort)" \
		"stat says the same on the mount as below it"
	is "$(stat -c %i "$mnt/project/main.c")" \
		"$(stat -c %i "$mnt/project/hard")" "hard links share a number"
	like "$(getfacl -pc "$mnt/project/lib/f3.c")" user:12345:r \
		"an ACL came along"
}

test_make() {
	ok "make" make -s -j2 -C "$mnt/project"
	is "$("$mnt/project/program")" 36 "what it built runs"
	ok "make again has nothing to do" make -q -C "$mnt/project"
	touch "$mnt/project/lib/f1.c"
	not_ok "and something after a touch" make -q -C "$mnt/project"
	ok "make from a changed source" make -s -C "$mnt/project"
}

git_here() {
	git -c user.name=Tester -c user.email=tester@example.org \
		-c init.defaultBranch=main "$@"
}

test_git() {
	local repo=$T/repo
	cp -r "$T/project" "$repo"
	(cd "$repo" && git_here init -q && git_here add . &&
		git_here commit -qm first)
	ok "git clone" git_here clone -q "$repo" "$mnt/clone"
	is "$(cd "$mnt/clone" && git_here status --porcelain)" "" \
		"git status is clean"
	echo more >>"$mnt/clone/main.c"
	is "$(cd "$mnt/clone" && git_here status --porcelain)" " M main.c" \
		"git status sees a change"
	ok "git commit" git_in_clone commit -qam second
	ok "git gc" git_in_clone gc -q
	ok "git checkout of the first one" git_in_clone checkout -q HEAD~1
	ok "git fsck" git_in_clone fsck
	is "$(cd "$mnt/clone" && git_here status --porcelain)" "" \
		"git status is clean again"
}

git_in_clone() {
	(cd "$mnt/clone" && git_here "$@")
}

editor_save() { # as most do: beside it, then renamed over it
	echo "version $1" >edited.tmp && sync edited.tmp &&
		mv edited edited~ && mv edited.tmp edited && chmod 640 edited
}

editors() {
	local n
	mkdir -p saves && cd saves && echo first >edited || return 1
	for n in 1 2 3 4 5; do
		editor_save "$n" && [ "$(cat edited)" = "version $n" ] ||
			return 1
	done
	sed -i s/version/Version/ edited
}

test_editors() {
	ok "saved by rename, five times" both editors
	equal "gives the same files" saves
}

appender() { # NUMBER
	local i
	for ((i = 0; i < 500; i++)); do
		echo "writer $1 line $i, which is long enough to tear"
	done >>"$mnt/appended"
}

test_append() {
	local n writers=()
	for n in 1 2 3 4; do
		appender "$n" &
		writers+=("$!")
	done
	wait "${writers[@]}"
	is "$(sort -u "$src/appended" | wc -l)" 2000 \
		"four writers append without losing a line"
	is "$(grep -cv '^writer [1-4] line [0-9]*, which is .* tear$' \
		"$src/appended")" 0 "nor tearing one"
}

sparse() {
	mkdir -p sparse && cd sparse || return 1
	truncate -s 10M hole
	printf end | dd of=hole bs=1 seek=9000000 conv=notrunc status=none
	fallocate -l 1M allocated
	fallocate -n -l 1M kept
	gen 100000 5 >punched
	fallocate -p -o 8192 -l 16384 punched
	gen 100000 6 >zeroed
	fallocate -z -o 8192 -l 16384 zeroed
	cp --sparse=always hole copy
}

test_sparse() {
	ok "sparse files and fallocate" both sparse
	equal "give the same files" sparse
	is "$(cd "$src/sparse" && stat -c '%n %s %b' ./*)" \
		"$(cd "$plain/sparse" && stat -c '%n %s %b' ./*)" \
		"of the same number of blocks"
	is "$(errno_of hole "$mnt/sparse/punched")" \
		"$(errno_of hole "$plain/sparse/punched")" \
		"SEEK_HOLE finds the same hole"
}

test_calls() {
	local call
	mkdir "$mnt/calls" "$plain/calls"
	both bash -c 'cd calls && echo a >a && echo b >b'
	for call in "exchange a b" "no-replace a b" "no-replace a c" "copy-range b copied" \
		"fsync b" "fsync ." "hole b" "removex b user.nosuch" \
		"lock b"; do
		# shellcheck disable=SC2086 # words
		is "$(cd "$mnt/calls" && errno_of $call)" \
			"$(cd "$plain/calls" && errno_of $call)" "$call"
	done
	equal "leave the same files" calls
}

test_tmpfile() {
	local said
	said=$(errno_of tmpfile "$mnt/calls" "$mnt/calls/linked")
	if [ "$said" = EOPNOTSUPP ]; then
		skip "O_TMPFILE" "this FUSE has none"
		return
	fi
	is "$said" ok "O_TMPFILE, and a name for it"
	is "$(cat "$src/calls/linked")" temporary "it is there"
	is "$(errno_of tmpfile "$mnt/calls" "$mnt/calls/linked")" EEXIST \
		"not twice"
}

lock_free() { # DIRECTORY
	flock -n "$1/locked" true
}

# Takes a lock in one place and asks for it in the other.
test_flock() { # HOLDER OTHER NAME
	local holder
	: >"$src/locked"
	mkfifo "$T/release"
	flock "$1/locked" bash -c 'echo held; read -r' <>"$T/release" \
		>"$T/held" &
	holder=$!
	poll 10 grep -q held "$T/held"
	not_ok "flock $3: held, so the other one is refused" lock_free "$2"
	echo >"$T/release"
	wait "$holder"
	# close() does not wait for the daemon to hear of it.
	ok "flock $3: released" poll 5 lock_free "$2"
	rm "$T/release" "$T/held"
}

test_record_lock() { # HOLDER OTHER NAME
	local holder
	mkfifo "$T/release"
	"$(helper sys)" hold-lock "$1/locked" <"$T/release" >"$T/held" &
	holder=$!
	exec 7>"$T/release"
	poll 10 grep -q held "$T/held"
	is "$(errno_of lock "$2/locked")" EAGAIN \
		"record lock $3: held, so the other one is refused"
	exec 7>&-
	wait "$holder"
	is "$(errno_of lock "$2/locked")" ok "record lock $3: released"
	rm "$T/release" "$T/held"
}

test_locks() {
	test_flock "$mnt" "$mnt" "inside the mount"
	test_flock "$mnt" "$src" "of the mount, seen below"
	test_flock "$src" "$mnt" "below, seen by the mount"
	test_record_lock "$mnt" "$mnt" "inside the mount"
	test_record_lock "$mnt" "$src" "of the mount, seen below"
	test_record_lock "$src" "$mnt" "below, seen by the mount"
}

# A lock that is waited for keeps nobody else waiting.
test_lock_wait() {
	local n waiters=()
	mkfifo "$T/release"
	flock "$mnt/locked" bash -c 'echo held; read -r' <>"$T/release" \
		>"$T/held" &
	poll 10 grep -q held "$T/held"
	for ((n = 0; n < 20; n++)); do
		flock "$mnt/locked" true &
		waiters+=("$!")
	done
	ok "20 wait for a lock: others are served" timeout 600 ls -l "$mnt"
	echo >"$T/release"
	wait "${waiters[@]}"
	ok "and all of them get it" poll 5 lock_free "$mnt"
	rm "$T/release"
}

attributes() {
	mkdir -p meta && cd meta || return 1
	: >f && chmod 4751 f && chown 123:456 f && chmod u+s f
	touch -d '2001-02-03 04:05:06.789012345' f
	mkfifo fifo && mknod null c 1 3 && mknod block b 7 0
	ln -s ../nowhere "$(printf 'l%0200d' 0)"
	chown -h 77:88 l0*
	touch -h -d 2002-02-02 l0*
	mkdir dir && chmod 2770 dir && chown 5:6 dir && : >dir/inherits
	: >mask && (umask 077 && : >masked)
	ln f hard && rm f && mv hard g
	mkdir from && : >from/x && mv from to && rmdir dir/nosuch 2>/dev/null
	ln -s "$(printf '%04000d' 0)" long
	return 0
}

test_metadata() {
	ok "modes, owners, times, links, devices" both attributes
	equal "are the same below" meta
	is "$(cd "$mnt/meta" && find . -printf '%p %y %s %m %n %U %G %l\n' |
		sort)" "$(cd "$plain/meta" &&
		find . -printf '%p %y %s %m %n %U %G %l\n' | sort)" \
		"and on the mount"
	is "$(stat -c %y "$mnt/meta/g" "$mnt"/meta/l0*)" \
		"$(stat -c %y "$plain/meta/g" "$plain"/meta/l0*)" \
		"with times to the nanosecond"
	is "$(stat -c '%t,%T' "$mnt/meta/null")" 1,3 "a device is a device"
}

# A write by somebody else takes the set-user-ID bit away.
test_suid() {
	cp /bin/true "$mnt/suid"
	chmod 4777 "$mnt/suid"
	as_nobody tee -a "$mnt/suid" <<<x >/dev/null
	is "$(stat -c %a "$src/suid")" 777 "a write clears set-user-ID"
}

# Errors are those of the directory below.
failures() {
	local long
	long=$(printf '%0256d' 0)
	mkdir -p errors && cd errors || return 1
	mkdir -p full/x && : >file
	{
		rmdir full
		mkdir full
		cat nosuch
		cat file/x
		: >"$long"
		mv full full/x
		ln full hard
		rm full
		rmdir file
		readlink file
		mv -T file full
		setfattr -n user.x -v 1 ../errors/nosuch
		setfattr -n "user.$long" -v 1 file
	} 2>&1 | sed 's/^.*line [0-9]*: //'
	return 0
}

test_errors() {
	is "$(cd "$mnt" && failures)" "$(cd "$plain" && failures)" \
		"errors are the same"
}

test_users() {
	chmod 1777 "$mnt"
	as_nobody mkdir "$mnt/theirs"
	as_nobody touch "$mnt/theirs/file"
	is "$(stat -c '%u:%g' "$src/theirs" "$src/theirs/file" | sort -u)" \
		65534:65534 "files of another user belong to it"
	mkdir "$mnt/mine"
	refused "and it cannot write where it must not" "Permission denied" \
		as_nobody touch "$mnt/mine/file"
	setpriv --reuid=65534 --regid=65534 --groups=4242 \
		touch "$mnt/theirs/grouped"
	ok "supplementary groups count" setpriv --reuid=65534 --regid=65534 \
		--groups=4242 chgrp 4242 "$mnt/theirs/grouped"
	: >"$mnt/theirs/others"
	refused "nor remove what is another's in a sticky directory" \
		"not permitted" as_nobody mv "$mnt/mine" "$mnt/theirs2"
}

test_statfs() {
	is "$(stat -f -c '%S %s %b %c %l' "$mnt")" \
		"$(stat -f -c '%S %s %b %c %l' "$src")" "statfs is that of below"
	ok "df" df "$mnt"
}

many_files() { # DIRECTORY COUNT
	perl -e 'mkdir $ARGV[0]; for (1 .. $ARGV[1]) {
		open F, ">", "$ARGV[0]/file-$_" or die; print F $_; }' "$@"
}

test_many() {
	local readers
	many_files "$src/big" 10000
	is "$(find "$mnt/big" -type f | wc -l)" 10000 \
		"a directory of 10,000 entries"
	is "$(ls "$mnt/big")" "$(ls "$src/big")" "lists all of them, once"
	find "$mnt/big" -type f -exec cat {} + >/dev/null 2>&1 &
	readers=("$!")
	find "$mnt/big" -newer "$src" -printf '%s' >/dev/null 2>&1 &
	readers+=("$!")
	ok "rm -r while others look" rm -r "$mnt/big"
	wait "${readers[@]}"
	not_ok "it is gone" test -e "$src/big"
}

# A reader of a directory that changes sees every file that stays.
test_readdir() {
	local n
	many_files "$src/changing" 2000
	for n in 1 2 3; do
		(cd "$mnt/changing" && seq "$((n * 100))" "$((n * 100 + 99))" |
			sed s/^/file-/ | xargs rm) &
		find "$mnt/changing" -name 'file-1???' >"$T/seen"
		wait "$!"
		is "$(sort -u "$T/seen" | wc -l) $(wc -l <"$T/seen")" \
			"1000 1000" "readdir while entries go"
	done
}

test_open_unlinked() {
	gen 100000 9 >"$mnt/doomed"
	exec 8<>"$mnt/doomed"
	rm "$mnt/doomed"
	is "$(xxhsum </proc/self/fd/8 | cut -d' ' -f1)" \
		"$(gen 100000 9 | xxhsum | cut -d' ' -f1)" \
		"an unlinked file is read as long as it is open"
	ok "and written" dd if=/dev/zero bs=1000 count=1 of=/proc/self/fd/8 \
		conv=notrunc status=none
	exec 8>&-
	is "$(find "$src" -name '.fuse_hidden*' -o -name doomed)" "" \
		"and leaves nothing behind"
}

# More open or known files than a process may have descriptors.
test_descriptors() {
	unmount "$mnt" || bail "unmount" ""
	many_files "$src/wide" 3000
	ulimit -n 1024
	mount_kinfs "$src" "$mnt" -o allow_other
	is "$(find "$mnt/wide" -type f -exec stat -c x {} + | wc -l)" 3000 \
		"more files than descriptors: stat"
	ok "and read" diff -r "$mnt/wide" "$src/wide"
	ok "and hashed" timeout 600 "$KIN" wait "$mnt"
	ok "and asked" digests_match "$mnt/wide/file-2999"
}

requests() { # KIND: how many of them the daemon of $T/asked had
	grep -c "opcode: $1 " "${log_of[$T/asked]}"
}

# What the kernel sends for a file that is read, and for one that is written.
test_requests() {
	local told
	mount_kinfs "$T/asked-src" "$T/asked" -d -o timeout=100
	echo text >"$T/asked/f"
	told=$(requests FLUSH)
	isnt "$told" 0 "closing what was written is told"
	cat "$T/asked/f" "$T/asked/f" "$T/asked/f" >"$T/read"
	is "$(requests OPEN)" 3 "a file is opened for reading three times"
	is "$(requests FLUSH)" "$told" "and closing it is not told"
	ok "unmount" unmount "$T/asked"
}

test_cross_rename() {
	is "$(errno_of no-replace "$mnt/locked" "$plain/locked2")" EXDEV \
		"rename out of the mount is EXDEV"
}

mkdir -p "$plain"
default_attributes
mount_kinfs "$src" "$mnt" -o allow_other
test_untar
test_make
test_git
test_editors
test_append
test_sparse
test_calls
test_tmpfile
test_locks
test_lock_wait
test_metadata
test_suid
test_errors
test_users
test_statfs
test_many
test_readdir
test_open_unlinked
test_cross_rename
wait_idle "$mnt"
ok "the daemon is alive" alive "$mnt"
is "$(daemon_log "$mnt")" "" "and had nothing to say"
ok "diff -r of mount and SOURCE" diff -r --exclude=meta --no-dereference \
	"$mnt" "$src"
test_requests
test_descriptors
finish
