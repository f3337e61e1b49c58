#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The shells complete what the help explains, because they ask the help.
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. tests/e2e/lib.sh

run_make install PREFIX="$T/p" || exit 1
PATH=$T/p/bin:$PATH

# Without descriptions, in one line, and without what is mounted on this machine
# meanwhile.
words() { # PROGRAM [WORD...]
	"$T/p/share/kinfs/completion-words" "$@" |
		awk -F'\t' -v own="$T" '$2 != "mount of kinfs" || index($1, own) == 1 {
			print $1 }' | tr '\n' ' '
}

# ---- the words ----

is "$(words kin '')" "$(kin help | sed -n 's/^  \([a-z]*\) .*/\1/p' |
	tr '\n' ' ')" "kin: its commands"
is "$(words kin --)" "--help --version " "kin --"
is "$(words kin help mi)" "missing " "kin help: the commands, too"
is "$(words kin nonsense '')" "" "nothing for a command that there is not"
is "$(words kin dedup --how '')" "hardlink reflink remove " \
	"the alternatives of an option"
is "$(words kin dedup --how=re)" "--how=reflink --how=remove " \
	"... behind ="
is "$(words kin dedup --keep n)" "newest / " "... or a directory"
is "$(words kin digest -a s)" "sise simhash sif ssdeep sdhash sha256 " \
	"... of an option's short form, named in its second line"
is "$(words kin digest -r '')" "/ " "files, behind a switch"
is "$(words kin digest --jobs '')" "" "nothing for a number"
is "$(words kin-share '')" "init check forget gc / " "kin-share"
is "$(words kin-share init --yu)" "--yugabyte " "kin-share init"
is "$(words kin-extract '')$(words kin-extract --j)" "/ --json " "kin-extract"
is "$(words kinfs -o ro,thr)" "ro,threshold= " "options of a mount"
is "$(words kin similar --relation '')" \
	"copy version picture within contains shares boilerplate " \
	"what an option takes, explained in the next line"
is "$(words kinfs -o ro,similar=s)" "ro,similar=show " "... and their values"
is "$(words kinfs -o r)" "rate= ro " "... also of those of FUSE in one line"
is "$(words kinfs -)" "-f -d -s -h -V -o " "kinfs -"

# Every option that a program explains is completed.
for command in $(words kin '' | sed 's/help //'); do
	is "$(words kin "$command" --)" "$(kin help "$command" |
		sed -nE 's/^ +(-., )?(--[a-z0-9-]+)(, (--[a-z-]+))?.*/\2 \4/p' |
		tr -s ' \n' ' ')" \
		"kin $command: its options"
done

mkdir -p "$T/source" "$T/a mount"
kinfs "$T/source" "$T/a mount" || exit 1
is "$(words kin groups "$T/a")" "$T/a mount / " "mounts, also with a blank"
fusermount3 -u "$T/a mount"

# ---- the shells ----

types() { # SHELL SETUP LINE WANTED
	python3 tests/e2e/helper/tab.py "$@"
}

completions=$T/p/share/bash-completion
ok "bash lists them" types "bash --norc --noprofile -i" \
	". /usr/share/bash-completion/bash_completion
	. '$completions/completions/kin.bash'" \
	"kin dedup --how re" $'\nreflink  remove'
ok "bash completes the only one" types "bash --norc --noprofile -i" \
	". /usr/share/bash-completion/bash_completion
	. '$completions/completions/kin.bash'" \
	"kinfs -o ro,thr" "kinfs -o ro,threshold="
zsh_setup="fpath=('$T/p/share/zsh/site-functions' \$fpath)
	autoload -Uz compinit; compinit -u -D"
ok "zsh lists them" types "zsh -f -i" "$zsh_setup" \
	"kin dedup --how re" "reflink  remove"
ok "zsh completes the only one" types "zsh -f -i" "$zsh_setup" \
	"kin gr" "kin groups "
is "$(fish -c "source '$T/p/share/fish/vendor_completions.d/kin.fish'
	complete -C 'kin dedup --how re'")" "reflink"$'\n'"remove" \
	"fish lists them"

finish
