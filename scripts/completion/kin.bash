# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Completion of kin, kinfs, kin-share and kin-extract for bash with bash-completion.

_kinfs_complete()
{
	# shellcheck disable=SC2034 # prev: _init_completion sets it
	local cur prev words cword line files=

	_init_completion -n =: || return
	while IFS= read -r line; do
		if [ "$line" = / ]; then
			files=1
		else
			COMPREPLY+=("${line%%$'\t'*}")
		fi
	done < <("@WORDS@" "${words[0]##*/}" "${words[@]:1:cword}" 2>/dev/null)
	if [ -n "$files" ]; then
		_filedir
	elif [[ ${COMPREPLY-} == *= ]]; then
		compopt -o nospace
	fi
	__ltrim_colon_completions "$cur"
} &&
	complete -F _kinfs_complete kin kinfs kin-share kin-extract
