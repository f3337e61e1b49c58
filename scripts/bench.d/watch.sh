# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # what scripts/bench sets
#
# How soon behind its commit a change is told by kin watch, one at a time and of
# ten thousand at once; and that none of these is lost.  Part of scripts/bench,
# which reads this file.

# watch_told NAME: "microseconds path" for each line
watch_told()
{
	local line time

	while IFS= read -r line; do
		time=${line#*\"time_ns\": }
		time=${time%%[^0-9]*}
		echo "$(($(now_us) - time / 1000)) $line"
	done >"watch/$1"
}

watch_waits() { # NAME LINES
	local i
	for ((i = 0; i < 6000; i++)); do
		[ "$(wc -l <"watch/$1")" -lt "$2" ] || return 0
		sleep 0.05
	done
	die "watch: $(wc -l <"watch/$1") of $2 changes were told"
}

bench_watch()
{
	local i pid

	echo
	echo "watch: milliseconds between the commit and the line"
	mkdir -p watch/source watch/mount
	"$kinfs" "$top/watch/source" watch/mount -o "db=$top/watch/db" || return
	"$kin" watch watch/mount 2>watch/err > >(watch_told one) &
	pid=$!
	until grep -q '^watching' watch/err; do sleep 0.05; done
	for ((i = 1; i <= runs * 4; i++)); do
		head -c 20000 /dev/urandom >"watch/mount/one$i"
		watch_waits one "$i"
	done
	mkdir watch/mount/many
	(cd watch/mount/many && seq 10000 | split -l 1 -a 3 -)
	watch_waits one $((runs * 4 + 10000))
	kill "$pid"
	wait "$pid" 2>/dev/null
	unmount watch/mount
	head -n $((runs * 4)) watch/one | awk '{ print $1 / 1000 }' >watch/each
	sed -i 's/^\([0-9]*\) .*path": "\([^"]*\)".*/\1 \2/' watch/one
	bar 'one at a time, median' '<= 100' ms "$(median <watch/each)"
	bar 'one at a time, slowest' '<= 100' ms \
		"$(sort -g watch/each | tail -n 1)"
	bar 'of 10,000 at once, paths told' '>= 10000' '' \
		"$(grep -c /many/ watch/one)"
}
