# SPDX-License-Identifier: Apache-2.0
#
# Completion of kin, kinfs, kin-share and kin-extract for fish.

function __kinfs_complete --argument-names program
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ("@WORDS@" $program $before[2..-1] "$current" 2>/dev/null)
        if test "$line" = /
            __fish_complete_path "$current"
        else
            printf '%s\n' $line
        end
    end
end

for program in kin kinfs kin-share kin-extract
    complete -c $program -f -k -a "(__kinfs_complete $program)"
end
