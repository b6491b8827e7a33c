#!/bin/sh
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# try-readme.sh: `./dev bare packages` runs it as root in a new root, with README.md, docs/ and build/packages/ in
# the folder weblocks beside it. A new user installs the packages by the commands of README.md, docs/packages.md and
# docs/guides/node.md, and compiles and runs the programs of README.md and of that guide, as they are printed. Each
# program waits for the one before, and prints as soon as that is killed.
set -eu

if [ $# -eq 0 ]; then
    export DEBIAN_FRONTEND=noninteractive
    # The commands ask nothing, since nobody is there to answer.
    echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90yes
    echo 'debconf debconf/frontend select Noninteractive' | debconf-set-selections
    apt-get -q update
    apt-get -q --no-install-recommends install sudo
    useradd --create-home --shell /bin/bash newcomer
    echo 'newcomer ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/newcomer
    cp -R "$0" "${0%/*}/weblocks" /home/newcomer
    chown -R newcomer: /home/newcomer
    exec su -l newcomer -c "/home/newcomer/${0##*/} install"
fi

# commands PATTERN FILE...: the lines that are commands and match.
commands() {
    pattern=$1
    shift
    sed -n "s/^    \($pattern.*\)$/\1/p" "$@" | grep .
}

# run_printed COMMANDS: in bash, as the braces need it.
run_printed() {
    echo "$1" | while read -r line; do
        echo "== $line"
        bash -euc "$line" </dev/null
    done
}

if [ "$1" = install ]; then
    cd ~/weblocks
    run_printed "$(commands 'sudo apt install \.' README.md)"
    echo '== nothing of the gateway to a cluster, and nothing is enabled'
    systemctl --root=/ --no-pager list-unit-files 'weblocks*'
    if find / -xdev \( -path /home -o -path /shared -o -path /proc \) -prune -o -name '*weblocks-cluster*' -print \
        2>/dev/null | grep . || getent passwd weblocks-cluster ||
        find /etc/systemd -name 'weblocks*' | grep .; then
        exit 1
    fi
    run_printed "$(commands 'sudo apt install' docs/packages.md)"
    run_printed 'sudo apt install --no-install-recommends npm'
    exec dbus-run-session -- "$0" on-a-bus
fi

# program LANGUAGE FILE: the first block in this language.
program() {
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$2" | sed '1d;/^```/,$d'
}

# wait_for COMMAND...: repeats the command for a minute or more.
wait_for() {
    for _ in $(seq 600); do
        if "$@" >/dev/null 2>&1; then
            return
        fi
        sleep 0.1
    done
    echo "not within a minute: $*" >&2
    weblocks list --all >&2
    tail -v ./*/output* >&2
    exit 1
}

waits() {
    [ "$(weblocks list printer | grep -c pending)" -eq 1 ]
}

# A program that prints a page, and takes its time.
mkdir ~/try ~/try/bin
cd ~/try
export PATH="$PWD/bin:$PATH"
cat >bin/lp <<'end'
#!/bin/sh
echo printing >>"$OUTPUT"
exec sleep 1000
end
chmod +x bin/lp

mkdir shell python gjs c deb npm
readme=~/weblocks/README.md guide=~/weblocks/docs/guides/node.md
program sh "$readme" >shell/print.sh
program python "$readme" >python/print.py
program js "$readme" >gjs/print.js
program c "$readme" >c/print.c
(cd c && run_printed "$(sed -n '1s/^\/\* \(cc .*\) \*\/$/\1/p' print.c)")
program js "$guide" | tee deb/print.mjs >npm/print.mjs
(cd deb && run_printed "$(commands 'mkdir .*ln ' "$guide")")
(cd npm && run_printed "$(commands 'npm install' "$guide")")

groups='' previous='' number=0
# shellcheck disable=SC2086 # several process groups
trap 'kill -9 $groups 2>/dev/null || true' EXIT

# next FOLDER COMMAND...: starts the program, kills the one before, and waits until this one prints.
next() {
    folder=$1
    number=$((number + 1))
    shift
    export OUTPUT="$PWD/$folder/output-$number"
    : >"$OUTPUT"
    (cd "$folder" && exec setsid "$@" >>"$OUTPUT" 2>&1) &
    pid=$!
    groups="$groups -$pid"
    if [ -n "$previous" ]; then
        wait_for waits
        if grep -qx printing "$OUTPUT"; then
            echo "$* prints while the one before does" >&2
            exit 1
        fi
        kill -9 "$previous"
    fi
    wait_for grep -qx printing "$OUTPUT"
    echo "prints: $*, in $folder"
    previous=$pid
    # As with flock(1), a command goes on with the lock if only the script that has started it is killed.
    if [ "$folder" = shell ]; then
        previous=-$pid
    fi
}

next shell sh print.sh
next python python3 print.py
next gjs gjs -m print.js
next c ./print
next deb node print.mjs
next deb node print.mjs
next npm node print.mjs
next npm node print.mjs
next shell sh print.sh
echo 'each program has printed, one at a time'
