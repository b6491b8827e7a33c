# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Completion of weblocks(1) for fish.

# Whether the command is one of these.
function __weblocks_is
    set -l tokens (commandline -opc)
    contains -- "$tokens[2]" $argv
end

# Prints the words before the cursor that follow the options of the command, each on a line: the lock
# name, and for `run` the command with its arguments.
function __weblocks_words
    set -l tokens (commandline -opc)
    set -l index 3
    while test $index -le (count $tokens)
        switch $tokens[$index]
            case --
                set index (math $index + 1)
                break
            case --and --wait --timeout --connect-timeout --conflict-exit-code --slots --why --on-loss --no-bus --grace --command --also-flock \
                    --bucket --app --uid --client
                set index (math $index + 2)
            case '--*'
                set index (math $index + 1)
            case '-*w' '-*E' '-*b' '-*c'
                # Short options may be combined; only the last one can take the next word.
                set index (math $index + 2)
            case '-*'
                set index (math $index + 1)
            case '*'
                break
        end
    end
    test $index -le (count $tokens); and printf '%s\n' $tokens[$index..-1]
    return 0
end

# Whether an option or the lock name can follow: `run` has none after the name.
function __weblocks_is_before_name
    test (count (__weblocks_words)) -eq 0
end

# Prints the first column of the output of `weblocks list`, for the bus of the command line. Names
# with escaped characters are left out, since they can't be typed. The time-out keeps a service that
# does not answer from blocking the shell.
function __weblocks_ask
    set -l tokens (commandline -opc)
    set -l system
    contains -- --system $tokens; and set system --system
    LC_ALL=C.UTF-8 timeout 2 $tokens[1] list $system $argv 2>/dev/null | cut -f 1 | \
        string match -rv '\\\\' | sort -u
end

function __weblocks_names
    set -l tokens (commandline -opc)
    set -l bucket default
    for index in (seq (count $tokens))
        switch $tokens[$index]
            case -b --bucket
                set bucket $tokens[(math $index + 1)]
            case '--bucket=*'
                set bucket (string replace -- --bucket= '' $tokens[$index])
        end
    end
    __weblocks_ask --bucket=$bucket
end

# Without those of others.
function __weblocks_buckets
    __weblocks_ask --all | string match -r '^(?:cluster:.*|[^:]*)$'
end

# Completes what follows the name: options --and, an optional --, and a command with its arguments.
function __weblocks_command
    set -l words (__weblocks_words)
    set -e words[1]
    while test "$words[1]" = --and; and test (count $words) -ge 2
        set -e words[1..2]
    end
    if test "$words[1]" = --and
        __weblocks_names
        return
    end
    test "$words[1]" = --; and set -e words[1]
    complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c weblocks -f

set -l before_command 'test (count (commandline -opc)) -eq 1'
complete -c weblocks -n $before_command -s h -l help -d 'List the commands'
complete -c weblocks -n $before_command -s V -l version -d 'Print the version'
for where in $before_command 'test (count (commandline -opc)) -eq 2; and __weblocks_is help'
    complete -c weblocks -n $where -a run -d 'Run a command while holding a lock'
    complete -c weblocks -n $where -a hold -d 'Hold a lock for the script that reads the output'
    complete -c weblocks -n $where -a list -d 'List locks and requests with process, age and purpose'
    complete -c weblocks -n $where -a watch -d 'Show held locks and pending requests as they change'
    complete -c weblocks -n $where -a break -d 'End the held locks of a name'
    complete -c weblocks -n $where -a steal -d 'Break a lock'
    complete -c weblocks -n $where -a cluster -d 'Show the connection of this host to others that share locks'
    complete -c weblocks -n $where -a help -d 'List the commands, or show the options of a command'
end

# Options: the commands that have it, then the arguments of complete.
function __weblocks_option
    set -l commands $argv[1]
    set -l condition "__weblocks_is $commands"
    string match -q '*run*' $commands; and set condition "$condition; and __weblocks_is_before_name"
    complete -c weblocks -n $condition $argv[2..-1]
end

set -l all run hold list watch break steal
__weblocks_option "$all" -s b -l bucket -x -a '(__weblocks_buckets)' -d 'Storage bucket of the name'
__weblocks_option "$all" -l group -x -a '(__fish_complete_groups)' -d 'Bucket of a Unix group'
__weblocks_option "$all" -l system -d 'Use the system bus'
__weblocks_option "$all cluster help" -s h -l help -d 'Print help and exit'
__weblocks_option 'run hold' -s s -l shared -d 'Request a shared lock'
__weblocks_option 'run hold' -s x -l exclusive -d 'Request an exclusive lock'
__weblocks_option 'run hold' -s n -l nonblock -d 'Fail if the lock is not available immediately'
__weblocks_option 'run hold' -s w -l wait -x -d 'Fail if not granted within that time'
__weblocks_option 'run hold' -l timeout -x -d 'Fail if not granted within that time'
__weblocks_option 'run hold' -l connect-timeout -x -d "Fail if the cluster can't be reached for that time"
__weblocks_option 'run hold' -s E -l conflict-exit-code -x -d 'Exit status if the lock could not be acquired'
__weblocks_option 'run hold' -l steal -d 'Steal the lock from its holders'
__weblocks_option 'run hold' -l slots -x -d 'Let that number of holders have the lock at the same time'
__weblocks_option 'run hold steal' -l why -x -d 'Purpose shown by list'
__weblocks_option 'run hold' -s v -l verbose -d 'Report how long it took, or who holds the lock'
__weblocks_option run -s c -l command -x -d 'Run this line of the shell'
__weblocks_option run -l and -x -a '(__weblocks_names)' -d 'Also hold the lock of this name'
__weblocks_option run -s o -l close -d 'Processes that the command leaves do not hold the lock'
__weblocks_option run -s F -l no-fork -d 'Replace this process by the command'
__weblocks_option run -l also-flock -r -F -d 'Also lock this file, as flock does'
__weblocks_option run -l no-bus -x -a 'fail run' -d 'What happens if there is no bus'
__weblocks_option run -l on-loss -x -a 'kill ignore' -d 'What happens to the command if the lock is lost'
__weblocks_option run -l grace -x -d 'Time between SIGTERM and SIGKILL after a loss'
__weblocks_option hold -l stdin -d 'Hold the lock until standard input ends'
__weblocks_option 'list watch' -s a -l all -d 'All buckets that you may look at'
__weblocks_option 'list watch cluster' -s j -l json -d 'Print JSON'
__weblocks_option watch -s t -l table -d 'Show a table that is updated'
__weblocks_option break -l app -x -d 'Sandboxed application'
__weblocks_option break -l uid -x -a '(__fish_complete_users)' -d 'User'
__weblocks_option break -l client -x -d 'Client id'
__weblocks_option cluster -l metrics -r -F -d 'Write metrics for Prometheus to this file instead'
functions -e __weblocks_option
complete -c weblocks -n '__weblocks_is cluster; and __weblocks_is_before_name' -a status

complete -c weblocks -n '__weblocks_is run hold list watch break steal; and __weblocks_is_before_name' \
    -a '(__weblocks_names)' -d lock
complete -c weblocks -n '__weblocks_is run; and not __weblocks_is_before_name' -a '(__weblocks_command)'
