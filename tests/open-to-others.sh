#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: tests/open-to-others.sh COMMAND [ARGUMENT...]
#
# Runs a command that other users can follow into this tree. Some tests start programs as a second
# user, which fails where a folder above the tree admits only its owner (/root, or what mktemp -d
# makes). Root can get around that without changing any mode: in a mount namespace of the command,
# an empty file system covers that folder, and the tree is mounted in it at its own path.
# Where that is not possible or not necessary, the command runs as it is, and the tests concerned
# are skipped.
set -euo pipefail
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")

# Prints the topmost directory on the path to the tree that other users can't enter; nothing if there is
# none.
closed_folder() {
  local folder='' part parts
  IFS=/ read -ra parts <<<"${tree#/}"
  for part in "${parts[@]}"; do
    folder+=/$part
    if (((8#$(stat -c %a "$folder") & 1) == 0)); then
      echo "$folder"
      return
    fi
  done
}

# In the new mount namespace: covers the closed folder $1.
cover() {
  local all entry
  all=$(mktemp -d -p /dev/shm)
  mount --bind "$tree" "$all"
  mount -t tmpfs -o mode=755 tmpfs "$1"
  mkdir -p "$tree"
  if [[ $1 != "$tree" ]]; then
    mount --bind "$all" "$tree"
  else
    # The tree's own folder is the one that is closed: mount what is in it.
    for entry in "$all"/* "$all"/.[!.]*; do
      if [[ -d $entry ]]; then
        mkdir "$tree/${entry##*/}"
      else
        touch "$tree/${entry##*/}"
      fi
      mount --bind "$entry" "$tree/${entry##*/}"
    done
  fi
  umount "$all"
  rmdir "$all"
  cd "$tree"
}

if [[ ${1:-} == --cover ]]; then
  cover "$2"
  exec "${@:3}"
fi
closed=$(closed_folder)
if [[ -z $closed || $EUID -ne 0 ]] || ! unshare --mount true 2>/dev/null; then
  exec "$@"
fi
exec unshare --mount "${BASH_SOURCE[0]}" --cover "$closed" "$@"
