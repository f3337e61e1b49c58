#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two worlds that differ only in what bob may not read look the same to bob,
# through every interface.  In one world the files of ada are relatives of
# what bob has: exact copies, variants, parts, what is shared by very many
# files, directories.  In the other one they have the same names, sizes and
# times, and nothing in common with bob's.  OBSERVE_SEED repeats a run.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh
private_namespace

seed=${OBSERVE_SEED:-$((RANDOM * 32768 + RANDOM))}
observations=500

# ---- bob's half, equal in both worlds ----

make_documents() { # in bob/docs
	local i
	mkdir -p bob/docs bob/parts
	for i in 1 2 3 4 5 6 7 8; do
		echo "bob/docs/doc$i 60:$i"
		echo "bob/docs/variant$i 5~1$i=bob/docs/doc$i"
		echo "bob/parts/copy$i 60:$i"
		echo "bob/parts/part$i 20:$i"
	done | gen_files
	printf 'export AWS_SECRET_ACCESS_KEY=wJalrXUt' >bob/docs/guess
	gen 5000 77 >bob/docs/linked
	: >bob/docs/empty
}

# As many variants as the index looks for, but one: of these bob may read those
# that are least alike, which one more would displace.
make_crowd() {
	mkdir bob/crowd
	gen_text 60 100 >bob/crowd/probe
	edit_text 25 101 <bob/crowd/probe >bob/crowd/least
	fmt -w 50 bob/crowd/least >bob/crowd/wrapped
	awk '{ line[NR] = $0 }
		END { for (i = 1; i <= 509; i++) {
			file = "bob/crowd/v" i
			for (n = 1; n <= NR; n++)
				print n == 1 + i % NR ? "other line " i : \
					line[n] >file
			close(file)
		} }' bob/crowd/probe
	chmod 000 bob/crowd/v*
}

# As many directories with something in common as are compared.
make_places() {
	mkdir -p bob/places/asked bob/places/p{0..31}
	printf '%s/filler 20:200\n' bob/places/* | gen_files
	printf 'S_KEY=wJalrXUtnF' >bob/places/asked/g1
	printf 'ESS_KEY=wJalrXUt' >bob/places/asked/g2
}

# Files of one text in other layouts.
make_texts() {
	local i
	mkdir bob/texts
	for i in 1 2 3; do
		fmt -w 40 "bob/docs/doc$i" >"bob/texts/wrapped$i"
		sed 's/$/\r/' "bob/docs/variant$i" >"bob/texts/dos$i"
		gzip -nc "bob/docs/doc$i" >"bob/texts/doc$i.gz"
		iconv -t UTF-16 "bob/docs/variant$i" >"bob/texts/wide$i"
	done
	tar --sort=name --mtime=@0 --owner=0 --group=0 -czf bob/texts/docs.tgz \
		bob/docs
}

host() { # FILE LINES SEED: the passage among as many lines on each side
	echo "$1 $2:${3}1 120:400 $2:${3}2"
}

licensed_file() { # FILE SEED: two thirds of it are the licence
	echo "$1 24:300 12:$2"
}

# Whether a passage or a licence in common counts depends on how many files have
# it.
make_common() {
	local i
	mkdir bob/passages bob/licensed
	for i in 0 1 2 3 4 5; do
		host "bob/passages/host$i" 200 "41$i"
		licensed_file "bob/licensed/l$i" "31$i"
	done | gen_files
}

# ---- ada's half ----

# What several of ada's files have, and what is made of others.
make_sources() {
	local i
	mkdir sources
	printf '%s\n' 'export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI' >sources/key
	for i in 1 2 3 4 5 6 7 8; do
		fmt -w 30 "bob/docs/doc$i" >"sources/narrow$i"
		gzip -nc "bob/docs/doc$i" >"sources/doc$i.gz"
		edit_text 3 "8$i" <bob/crowd/probe | fmt -w 50 >"sources/probe$i"
		edit_text 10 "7$i" <"bob/docs/doc$i" |
			iconv -t UTF-16 >"sources/wide$i"
	done
}

# So many that the licence and the passage are boilerplate to those who see all
# of them: the parts of each, or one source that is copied byte by byte.
list_secrets() {
	local i doc file
	for ((i = 0; i < 900; i++)); do
		doc=$((i / 20 % 8 + 1))
		file=ada/closed/d$((i % 12))/f$i
		case $((i % 20)) in
		0) echo "$file =bob/docs/doc$doc" ;;
		1) echo "$file 10~5$i=bob/docs/doc$doc" ;;
		2) echo "$file 3~6$i=bob/crowd/probe" ;;
		3) echo "$file =sources/key" ;;
		4) echo "$file =bob/places/asked/filler =bob/docs/doc$doc" ;;
		5) echo "$file =sources/narrow$doc" ;;
		6) echo "$file =sources/probe$doc" ;;
		[789] | 1[01]) host "$file" 20 "4$i" ;;
		12) echo "sources/doc$doc.gz $file" >&3 ;;
		13) echo "sources/wide$doc $file" >&3 ;;
		*) licensed_file "$file" "7$i" ;;
		esac
	done
}

make_secrets() {
	make_sources
	mkdir -p ada/closed/d{0..11}
	list_secrets 3>copied | gen_files
	perl -MFile::Copy -ane 'copy(@F) or die "@F: $!"' copied
}

# Files of the same names and sizes, of random bytes.
make_others() {
	mkdir -p ada/closed/d{0..11}
	(cd "$T/one" && find ada -type f -links 1 -printf '%s %p\n' | sort) |
		gen_random_files 9
}

make_world() { # WORLD: bob's half is there
	(
		cd "$T/$1" || exit
		mkdir -p ada/closed
		if [ "$1" = one ]; then make_secrets; else make_others; fi
		rm -rf sources copied
		ln bob/docs/linked "ada/closed/name-in-$1"
		chown -R "$ada" ada
		chown -R "$bob" bob
		find ada -type f ! -links 2 -exec chmod 600 {} +
		chmod 700 ada/closed
		find . -exec touch -h -d @1700000000 {} +
	)
}

# The files of bob are made in one order in both: it is that of their numbers,
# in which equal ones are told.
make_worlds() {
	local world
	mkdir "$T/half" "$T/one" "$T/two"
	(
		cd "$T/half" || exit
		make_documents
		make_crowd
		make_places
		make_texts
		make_common
	)
	tar --sort=name -C "$T/half" -cf "$T/half.tar" bob
	for world in one two; do
		tar -C "$T/$world" -xpf "$T/half.tar"
		make_world "$world"
	done
}

# ---- looking ----

# The paths of both worlds are those of the first.
list_paths() {
	(cd "$T/one" && as_bob find . -mindepth 1 ! -name 'v[0-9]*' 2>"$T/closed" |
		sed 's,^\./,,' | sort
	printf '%s\n' bob/crowd/v1 bob/crowd/v300 ada/closed/d1/f1 \
		ada/closed/name-in-one) >"$T/paths"
}

observe() { # WORLD
	(cd "$T/mnt-$1" && as_bob "$observer" "$seed" "$observations" \
		"$T/root-head" <"$T/paths")
}

says_idle() { # MOUNTPOINT [OPTIONS...]
	as_bob "$KIN" status "${@:2}" "$1" >"$T/said" 2>&1
	grep -q -e '"idle": true' -e '^state *idle' "$T/said"
}

# Somebody knows the digests of a file of ada's in the first world, but not what
# is in it.
by_hash_alone() { # MOUNTPOINT
	local file
	for file in d1/f1 d4/f4 d0/f12 d1/f13; do
		file=$T/one/ada/closed/$file
		# shellcheck disable=SC2016 # of the shell within
		as_bob bash -c 'exec 3<>"$0" && printf "%s" "$1" >&3 && cat <&3' \
			"$1/.similar/.query" "{\"relation\": \"all\", \"threshold\": 1,
			\"size\": $(stat -c %s "$file"), \"digests\": {\"xxh128\":
			\"$("$KIN" digest -a xxh128 "$file" | head -c 32)\"}}" 2>&1
	done
}

says() { # COMMAND...: as bob
	echo "$@"
	as_bob "$@" 2>&1
	echo "exit $?"
}

kin_sees() { # WORLD
	local path other=$T/$1/bob/docs/variant1 m=$T/mnt-$1 call
	local files=("$m"/bob/docs/{doc1,doc2,guess} "$m/bob/crowd/probe"
		"$m/bob/licensed/l1" "$m/bob/parts/part3" "$m/bob/passages/host1"
		"$m"/bob/texts/{wrapped1,doc1.gz,wide2,docs.tgz}
		"$m/ada/closed/d1/f1")
	for call in "similar" "similar --json" "similar --relation boilerplate" \
		"similar --share-min 1k" "similar --threshold 1 -v" \
		"similar --relation within" \
		"similar --relation contains --limit 2" "digest --sdhash"; do
		# shellcheck disable=SC2086 # words
		says "$KIN" $call "${files[@]}"
	done
	says "$KIN" similar --of "$other" "$m/bob/docs"
	says "$KIN" similar --relation shares --of "$other" "$m/bob/docs"
	for path in "${files[@]}"; do
		says "$KIN" similar --why "$path" "$m/bob/docs/variant1"
		says "$KIN" compare "$path" "$other"
	done
	for path in "$m"/bob/places/{asked,p3} "$m/bob/docs" "$m/bob" "$m/ada"; do
		says "$KIN" similar "$path"
		says "$KIN" similar --json --threshold 1 "$path"
	done
	for path in bob/docs/doc1 bob/docs/guess bob/crowd/probe bob/licensed/l1 \
		bob/parts/part3 bob/passages/host1 ada/closed/d1/f1; do
		as_bob readlink "$m/.similar/$path/.base" 2>&1
	done
	for path in bob/texts/doc1.gz bob/texts/wide1 ada/closed/d1/f1; do
		as_bob getfattr -n user.kinfs.text "$m/$path" 2>&1
	done
	by_hash_alone "$m"
	for call in "--json" "--exact --json" "--threshold 30 --json" "-0" \
		"--vcs" "--min-size 1k"; do
		echo "kin groups $call"
		# shellcheck disable=SC2086
		as_bob "$KIN" groups $call "$m" 2>&1 | tr '\0' '\n'
		echo "exit ${PIPESTATUS[0]}"
	done
	as_bob "$KIN" groups "$m" "$m/bob/docs" 2>&1
	as_bob find "$m/.similar/.groups" "$m/.similar/bob/docs/.groups" \
		-printf '%p %y %l %n %m %s\n' 2>&1
	as_bob getfattr -n user.kinfs.state "$m/.similar/.groups" 2>&1
	poll 60 says_idle "$m"
	cat "$T/said"
	poll 60 says_idle "$m" --json
	cat "$T/said"
	as_bob "$KIN" wait "$m" | tail -n 1
	for call in check rescan pause; do
		says "$KIN" "$call" "$m"
	done
}

# The names of the worlds are as long as one another.
look() { # WORLD NAME
	{
		observe "$1"
		kin_sees "$1"
		(cd "$T/mnt-$1" && as_bob find .similar . 2>&1)
	} | sed "s,${T#/}/\(mnt-\)\?$1,WORLD,g
		s/\( [0-9]*:[0-9]*\) 20[0-9-]*T[0-9:]*Z/\1/" >"$T/$2-$1"
}

# The daemon comes to know the file by the name that bob must not see, and by
# no other one for as long as it is open.
ada_looks() { # WORLD DESCRIPTOR
	eval "exec $2<\"\$T/mnt-$1/ada/closed/name-in-$1\""
	as_ada getfattr --absolute-names -n user.sdhash \
		"$T/mnt-$1/ada/closed/name-in-$1"
}

# What bob does, in both worlds.
act() { # WORLD
	local m=$T/mnt-$1/bob
	as_bob cp "$m/docs/doc3" "$m/docs/again"
	printf 'export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI\n' |
		as_bob tee "$m/docs/guess" >/dev/null
	as_bob ln "$m/docs/doc4" "$m/docs/link4"
	as_bob touch -d @1700000000 "$m/docs/again" "$m/docs/guess" "$m/docs"
	wait_idle "$T/mnt-$1"
}

# What bob is told of that, while ada does something else in each world.
act_watched() { # WORLD
	local m=$T/mnt-$1 pid
	setpriv --reuid="$bob" --regid="$bob" --clear-groups -- \
		"$KIN" watch "$m" >"$T/watched" 2>"$T/watch.err" &
	pid=$!
	pids+=("$pid")
	poll 20 grep -q '^watching ' "$T/watch.err" ||
		bail "bob watches" "$(cat "$T/watch.err")"
	cp "$T/$1/bob/docs/doc1" "$m/ada/closed/copy"
	if [ "$1" = one ]; then
		mv "$m/ada/closed/copy" "$m/ada/closed/moved"
		gen_text 60 300 >"$m/ada/closed/moved"
		rm "$m/ada/closed/moved"
	fi
	act "$1"
	echo last | as_bob tee "$m/bob/docs/last" >"$T/output"
	poll 20 grep -q docs/last "$T/watched"
	kill "$pid"
	wait "$pid" 2>/dev/null
	rm -f "$m/ada/closed/copy" "$m/bob/docs/last"
	touch -d @1700000000 "$m/ada/closed" "$m/bob/docs"
	wait_idle "$m"
	# A cursor is the time, too, and a number of this life of the daemon.
	sed 's/"time_ns": [0-9]*//; s/"cursor": "[0-9a-f]*-[0-9a-f]*"//' \
		"$T/watched" |
		sed "s,${T#/}/\(mnt-\)\?$1,WORLD,g" | sort >"$T/told-$1"
}

share_programs
observer=$(helper observe)
cp "$(command -v head)" "$T/root-head" && chmod 4755 "$T/root-head"
make_worlds
list_paths
for world in one two; do
	mount_kinfs "$T/$world" "$T/mnt-$world" -o allow_other,wait=5,limit=200,share_min=2k
done
ok "ada sees what bob does not" ada_looks one 5
ok "in both worlds" ada_looks two 6
for world in one two; do
	wait_idle "$T/mnt-$world"
done
diag "OBSERVE_SEED=$seed, $observations observations of $(wc -l <"$T/paths")" \
	"paths"
for world in one two; do
	look "$world" first
done
same "two worlds look the same" "$T/first-one" "$T/first-two"
between "$(grep -c . "$T/first-one")" "$observations" 100000 \
	"with every observation made"
between "$(grep -c -- '-> ' "$T/first-one")" 100 100000 \
	"and many of links that are there"
for world in one two; do
	act_watched "$world"
done
same "two worlds tell bob the same of what happens" "$T/told-one" "$T/told-two"
between "$(grep -c '"changed"\|"new"' "$T/told-one")" 4 20 "which is something"
for world in one two; do
	look "$world" second
done
same "also after bob has stored guesses" "$T/second-one" "$T/second-two"
isnt "$(cmp "$T/first-one" "$T/second-one")" "" "which bob does see"
exec 5<&- 6<&-
for world in one two; do
	ok "it unmounts" unmount "$T/mnt-$world"
done
finish
