#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# usage: tests/bare/in-root.sh VARIANT DIRECTORY COMMAND
#
# Runs a shell command as root in a new root of Debian 12, with a copy of DIRECTORY in /shared, which is copied
# back at the end. VARIANT is mmdebstrap's. The root has the packages of that variant and this machine's mirrors,
# and nothing else of the machine. It is a mount point with /proc, /sys, /dev and /run of its own, as the root
# of a machine is: in a chroot there are no user namespaces, which bubblewrap needs, and the service refuses
# clients whose root is no mount point that it can find. The root is removed at the end. This takes root: others
# need sudo. All that is in DIRECTORY belongs to its owner afterwards.
set -euo pipefail

# Runs in namespaces of its own, for the root $1.
enter() {
  local root=$1 device old=/run/old
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  mount -t tmpfs -o mode=755 tmpfs "$root/dev"
  for device in null zero full random urandom tty; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
  done
  mkdir "$root/dev/pts" "$root/dev/shm" "$root/run/lock" "$root$old"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$root/dev/pts"
  mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
  ln -s pts/ptmx "$root/dev/ptmx"
  ln -s /proc/self/fd "$root/dev/fd"
  for device in 0:stdin 1:stdout 2:stderr; do
    ln -s "/proc/self/fd/${device%:*}" "$root/dev/${device#*:}"
  done
  cd "$root"
  pivot_root . ".$old"
  umount -l "$old"
  rmdir "$old"
  cd /
  exec env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -euc "$COMMAND"
}

if [[ $1 == --enter ]]; then
  enter "$2"
fi

if [[ $EUID -ne 0 ]]; then
  exec sudo "$(realpath "${BASH_SOURCE[0]}")" "$@"
fi
owner=$(stat -c %u:%g "$2")
trap 'chown -R "$owner" "$2"' EXIT

mapfile -t mirrors < <(apt-get indextargets --format "deb \$(REPO_URI) \$(CODENAME) main" \
  'Created-By: Packages' 'Origin: Debian' 'Component: main' | grep ' bookworm' | sort -u)
# Debian's installer writes /etc/hosts; without it there is no localhost.
# shellcheck disable=SC2016 # the hooks' shells expand them
SCRIPT=$(realpath "${BASH_SOURCE[0]}") COMMAND=$3 mmdebstrap --variant="$1" --dpkgopt=force-unsafe-io \
  --aptopt='Acquire::Retries "5"' \
  --customize-hook='mkdir "$1/shared"' \
  --customize-hook='printf "127.0.0.1 localhost\n::1 localhost\n" >"$1/etc/hosts"' \
  --customize-hook="sync-in '$2' /shared" \
  --customize-hook='unshare --mount --pid --fork --kill-child "$SCRIPT" --enter "$1"' \
  --customize-hook="sync-out /shared '$2'" \
  bookworm /dev/null "${mirrors[@]}"
