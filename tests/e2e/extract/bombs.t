#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kin-extract: what is small and grows without end is stopped, and takes little
# memory.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

EXTRACT=${KIN%/*}/kin-extract
cd "$T" || exit 1
mkdir docs
python3 "$HELPERS/documents.py" docs slow || bail "documents are made" "no"
cd docs || exit 1

# The processes are those of whoever holds the documents open.
watch_memory() { # FILE: the most that a process with the program had, in KiB
	local dir most=0 now
	"$EXTRACT" --json "$1" >../out &
	local pid=$!
	while ! gone $pid; do
		for dir in /proc/[0-9]*; do
			[[ $(readlink "$dir/exe" 2>/dev/null) = "$EXTRACT"* ]] ||
				continue
			now=$(awk '/^VmHWM/ { print $2 }' "$dir/status" \
				2>/dev/null)
			[ "${now:-0}" -le "$most" ] || most=$now
		done
		read -r -t 0.2 <> <(:)
	done
	wait $pid
	echo "$most"
}

for file in bomb.zip flate.pdf forms.pdf; do
	most=$(watch_memory $file)
	between "$most" 1000 100000 "$file: memory"
	like "$(jq -r .status ../out)" '^(limit|none)$' "... and no text"
done
is "$(jq -r '.status, .died' ../out | tr '\n' ' ')" "limit true " \
	"forms.pdf: drawn for ever, stopped"
finish
