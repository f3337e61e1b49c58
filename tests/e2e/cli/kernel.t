#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# KINFS_KERNEL: every variant of the inner loops prints the same digests.
# shellcheck source=tests/e2e/lib.sh disable=SC1091,SC2016
. tests/e2e/lib.sh

gen_text 20000 1 >"$T/text"
gen 300000 2 >"$T/random"
: >"$T/empty"
digests() { # [NAME=VALUE]: of all three files
	(cd "$T" && env "$@" "$KIN" digest text random empty)
}

digests >"$T/want"
digests KINFS_KERNEL= >"$T/have"
same 'an empty KINFS_KERNEL is none' "$T/have" "$T/want"

# The message names what there is.
KINFS_KERNEL=mmx "$KIN" digest "$T/text" >"$T/out" 2>"$T/err"
is "$?" 2 'an unknown variant is an error of usage'
is "$(wc -c <"$T/out")" 0 'and nothing is printed'
names=$(sed -n "s/^kin: KINFS_KERNEL is 'mmx'; this machine runs //p" "$T/err")
is "${names%%,*}" scalar 'the message names the variants, scalar first'

for name in ${names//,/}; do
	digests KINFS_KERNEL="$name" >"$T/have"
	same "$name prints the same digests" "$T/have" "$T/want"
done

finish
