# SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
# SPDX-License-Identifier: LGPL-2.1-or-later

"""A machine made of namespaces, where systemd is process 1; it is not visible outside.

    boot_systemd.py DIRECTORY VARIABLE=VALUE... -- [SOURCE:]TARGET...

DIRECTORY/tree has the additions of the new root to the programs of this machine: its directories
/etc and /run, and a layer over /usr. Each TARGET is also visible there, read-only. When systemd is
ready, its process id is printed; or "refused: " and the reason, if the kernel or a container does
not permit it. At EOF on standard input the machine ends, for whatever reason, and its control
groups and DIRECTORY are removed.

What all machines on this kernel share is not accessible: /proc/sys is read-only, /sys is empty
except for control groups that were made for this machine, there is no network, and the capabilities
that are not bound to a namespace (clock, modules, kernel log) are dropped before systemd starts."""

import os
import select
import shutil
import signal
import socket
import sys
import time

from kernel import (
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUTS, MS_BIND,
    MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_PRIVATE, MS_RDONLY, MS_REC, MS_REMOUNT, PR_CAPBSET_DROP,
    PR_SET_PDEATHSIG, checked, libc, mount, prctl, unshare)

MNT_DETACH = 2
# MODULE, RAWIO, PACCT, BOOT (which is kexec, too), TIME, AUDIT_WRITE, AUDIT_CONTROL, MAC_OVERRIDE,
# MAC_ADMIN, SYSLOG, WAKE_ALARM, BLOCK_SUSPEND, AUDIT_READ.
NOT_OF_A_NAMESPACE = (16, 17, 20, 22, 25, 29, 30, 32, 33, 34, 35, 36, 37)
SYSTEMD = '/lib/systemd/systemd'
# The controllers that the units' limits need, and those with which systemd tracks processes.
CONTROLLERS = ('memory', 'pids')
PATIENCE = 60

def bind(source, target, flags=0):
    """A recursive bind mount; the flags are applied to the topmost mount."""
    mount(source, target, flags=MS_BIND | MS_REC)
    if flags:
        mount(None, target, flags=MS_BIND | MS_REMOUNT | flags)


# ---- control groups

def hierarchies():
    """{name: [directory of this process's group there, and of the topmost]}: name is a controller,
    name=systemd or '' (the second version's)."""
    own = {}
    with open('/proc/self/cgroup', encoding='utf-8') as file:
        for line in file:
            _, names, path = line.rstrip('\n').split(':', 2)
            own[names] = path
    found = {}
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        for line in file:
            before, _, after = line.partition(' - ')
            kind, _, options = after.split()[:3]
            root, point = before.split()[3:5]
            for names, path in own.items():
                here = kind == 'cgroup2' if names == '' else \
                    kind == 'cgroup' and set(names.split(',')) <= set(options.split(','))
                if here and os.path.commonpath((root, path)) == root:
                    own_place = os.path.normpath(os.path.join(point, os.path.relpath(path, root)))
                    found.setdefault(names, [own_place, point])
    return found


def read(*parts):
    with open(os.path.join(*parts), encoding='ascii') as file:
        return file.read()


def write(text, *parts):
    with open(os.path.join(*parts), 'w', encoding='ascii') as file:
        file.write(text)


class Groups:
    """The control groups of one machine: below this process's group, so that its limits apply. If
    no controllers are delegated to that, as on most machines with systemd, below the topmost group,
    as with other container managers."""

    def __init__(self):
        self.places = {}  # name of the hierarchy -> the group
        places = {name: self._choose(name, *both) for name, both in hierarchies().items()
                  if name in ('', 'name=systemd', *CONTROLLERS)}
        if not {'', 'name=systemd'} & set(places):
            raise OSError('there are no control groups that systemd could use')
        if 'name=systemd' not in places:
            places = {'': places['']}
        for name, place in places.items():
            self._sweep(place)
            try:
                self.places[name] = os.path.join(place, f'weblocks-systemd-{os.getpid()}')
                os.mkdir(self.places[name])
            except OSError:
                del self.places[name]
                if name not in CONTROLLERS:
                    self.remove()
                    raise

    @staticmethod
    def _choose(name, own, topmost):
        if name == '':
            for place in (own, topmost):
                if set(CONTROLLERS) <= set(read(place, 'cgroup.subtree_control').split()):
                    return place
        return own

    @staticmethod
    def _sweep(place):
        """Removes groups whose creator was killed."""
        for name in os.listdir(place):
            pid = name.removeprefix('weblocks-systemd-')
            path = os.path.join(place, name)
            if pid != name and not os.path.exists(f'/proc/{pid}') and is_empty(path):
                remove_tree(path)

    def enter(self):
        for place in self.places.values():
            write('0', place, 'cgroup.procs')

    def mount(self, root):
        """For a namespace of control groups whose roots these are."""
        if set(self.places) == {''}:
            mount('cgroup2', root, 'cgroup2', MS_NOSUID | MS_NODEV | MS_NOEXEC)
            return
        mount('tmpfs', root, 'tmpfs', MS_NOSUID | MS_NODEV | MS_NOEXEC, 'mode=755')
        for name in self.places:
            point = os.path.join(root, name.removeprefix('name=') or 'unified')
            os.mkdir(point)
            if name == '':
                mount('cgroup2', point, 'cgroup2', MS_NOSUID | MS_NODEV | MS_NOEXEC)
            else:
                mount('cgroup', point, 'cgroup', MS_NOSUID | MS_NODEV | MS_NOEXEC,
                      f'none,{name}' if '=' in name else name)
        mount(None, root, flags=MS_REMOUNT | MS_BIND | MS_RDONLY)

    def kernel_controllers(self):
        """The lines of /proc/cgroups that are for this machine."""
        lines = read('/proc/cgroups').splitlines()
        names = {'#subsys_name', *','.join(self.places).split(',')} if set(self.places) != {''} \
            else {line.split()[0] for line in lines}
        return ''.join(f'{line}\n' for line in lines if line.split()[0] in names)

    def remove(self):
        for place in self.places.values():
            remove_tree(place)
            if os.path.exists(place):
                raise OSError(f'{place} can\'t be removed')


def is_empty(place):
    try:
        return not any(read(folder, 'cgroup.procs') for folder, _, _ in os.walk(place))
    except OSError:
        # Another process is removing it.
        return False


def remove_tree(place):
    for folder, _, _ in list(os.walk(place, topdown=False)):
        # The last of its processes may still be exiting.
        for _ in range(100):
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                pass
            except OSError:
                time.sleep(0.01)
                continue
            break


# ---- the root

def make_root(root, tree, shared, groups):
    mount('tmpfs', root, 'tmpfs', MS_NOSUID | MS_NODEV, 'mode=755')
    for name in sorted(os.listdir('/')):
        path, target = f'/{name}', f'{root}/{name}'
        if not name.startswith(('bin', 'lib', 'sbin')):
            continue
        if os.path.islink(path):
            os.symlink(os.readlink(path), target)
        elif os.path.isdir(path):
            os.mkdir(target)
            bind(path, target, MS_RDONLY)
    for name in ('usr', 'dev', 'etc', 'home', 'proc', 'root', 'run', 'sys', 'tmp', 'var'):
        os.mkdir(f'{root}/{name}')
    mount('overlay', f'{root}/usr', 'overlay', MS_RDONLY, f'lowerdir={tree}/usr:/usr')
    for name in ('etc', 'run'):
        mount('tmpfs', f'{root}/{name}', 'tmpfs', MS_NOSUID | MS_NODEV, 'mode=755')
        copy_tree(f'{tree}/{name}', f'{root}/{name}')
    for name in ('tmp', 'var/tmp'):
        os.makedirs(f'{root}/{name}', exist_ok=True)
        os.chmod(f'{root}/{name}', 0o1777)
    os.mkdir(f'{root}/var/log')
    os.symlink('/run', f'{root}/var/run')
    mount('tmpfs', f'{root}/dev', 'tmpfs', MS_NOSUID | MS_NOEXEC, 'mode=755')
    make_devices(f'{root}/dev')
    make_proc_and_sys(root, groups)
    for path in shared:
        source, _, target = path.rpartition(':')
        os.makedirs(root + target, exist_ok=True)
        bind(source or target, root + target, MS_RDONLY)


def copy_tree(source, target):
    """Copies files and links, owned by root."""
    for folder, folders, names in os.walk(source):
        there = target + folder.removeprefix(source)
        for name in [*folders, *names]:
            path, copy = os.path.join(folder, name), os.path.join(there, name)
            if os.path.islink(path):
                os.symlink(os.readlink(path), copy)
            elif os.path.isdir(path):
                os.mkdir(copy, os.stat(path).st_mode & 0o7777)
            else:
                with open(path, 'rb') as one, open(copy, 'wb') as other:
                    other.write(one.read())
                os.chmod(copy, os.stat(path).st_mode & 0o7777)


def make_devices(dev):
    for name in ('null', 'zero', 'full', 'random', 'urandom', 'tty', 'fuse'):
        if os.path.exists(f'/dev/{name}'):
            write('', dev, name)
            bind(f'/dev/{name}', f'{dev}/{name}')
    os.mkdir(f'{dev}/shm')
    mount('tmpfs', f'{dev}/shm', 'tmpfs', MS_NOSUID | MS_NODEV, 'mode=1777')
    os.mkdir(f'{dev}/pts')
    mount('devpts', f'{dev}/pts', 'devpts', MS_NOSUID | MS_NOEXEC, 'newinstance,ptmxmode=0666')
    os.symlink('pts/ptmx', f'{dev}/ptmx')
    for name, target in {'fd': '/proc/self/fd', 'stdin': 'fd/0', 'stdout': 'fd/1',
                         'stderr': 'fd/2'}.items():
        os.symlink(target, f'{dev}/{name}')


def make_proc_and_sys(root, groups):
    mount('proc', f'{root}/proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for name in ('sys', 'sysrq-trigger'):
        if os.path.exists(f'{root}/proc/{name}'):
            bind(f'{root}/proc/{name}', f'{root}/proc/{name}', MS_RDONLY)
    # systemd only mounts the hierarchies that are listed there.
    write(groups.kernel_controllers(), f'{root}/run/cgroups')
    bind(f'{root}/run/cgroups', f'{root}/proc/cgroups', MS_RDONLY)
    # A user may mount a /proc in a private namespace, as bubblewrap does, only where a complete one
    # is visible. Only root can access this one.
    os.mkdir(f'{root}/run/whole', 0o700)
    os.mkdir(f'{root}/run/whole/proc')
    mount('proc', f'{root}/run/whole/proc', 'proc', MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount('tmpfs', f'{root}/sys', 'tmpfs', MS_NOSUID | MS_NODEV | MS_NOEXEC, 'mode=755')
    os.makedirs(f'{root}/sys/fs/cgroup')
    groups.mount(f'{root}/sys/fs/cgroup')
    mount(None, f'{root}/sys', flags=MS_REMOUNT | MS_BIND | MS_RDONLY)


def become_systemd(directory, variables, shared, groups, keeper):
    """Runs in the first process of a PID namespace."""
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if not os.path.exists(f'/proc/{keeper}'):
        return
    groups.enter()
    unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP)
    mount(None, '/', flags=MS_REC | MS_PRIVATE)
    os.umask(0o022)
    root = os.path.join(directory, 'root')
    make_root(root, os.path.join(directory, 'tree'), shared, groups)
    os.mkdir(f'{root}/run/notify')
    bind(os.path.join(directory, 'notify'), f'{root}/run/notify')
    os.chdir(root)
    checked(libc.pivot_root(b'.', b'.'), 'pivot_root')
    checked(libc.umount2(b'.', MNT_DETACH), 'umount')
    os.chdir('/')
    for capability in NOT_OF_A_NAMESPACE:
        prctl(PR_CAPBSET_DROP, capability)
    null = os.open('/dev/null', os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.closerange(3, 1 << 10)
    os.execve(SYSTEMD, [SYSTEMD, '--system', '--unit=machine.target', '--show-status=no',
                        '--log-target=journal-or-kmsg', '--log-color=no'],
              {'container': 'weblocks-test', 'NOTIFY_SOCKET': '/run/notify/socket',
               'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'LANG': 'C.UTF-8', **variables})


def wait_ready(listener, pidfd):
    """Waits until systemd has finished its startup. Returns False if it fails, which no unit of
    this project can cause."""
    poll = select.poll()
    for descriptor in (listener.fileno(), pidfd, 0):
        poll.register(descriptor, select.POLLIN)
    deadline = time.monotonic() + PATIENCE
    while (left := deadline - time.monotonic()) > 0:
        ready = {descriptor for descriptor, _ in poll.poll(left * 1000)}
        if listener.fileno() not in ready:
            return False
        if 'READY=1' in listener.recv(1 << 16).decode().splitlines():
            return True
    return False


def main():
    directory, *rest = sys.argv[1:]
    at = rest.index('--')
    variables = dict(word.split('=', 1) for word in rest[:at])
    # A signal to the process group of the test must not prevent the cleanup.
    os.setsid()
    os.makedirs(os.path.join(directory, 'root'))
    os.makedirs(os.path.join(directory, 'notify'))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(os.path.join(directory, 'notify', 'socket'))
    keeper = os.getpid()
    try:
        unshare(CLONE_NEWPID)
        groups = Groups()
    except OSError as error:
        print(f'refused: {error}', flush=True)
        return
    try:
        pid = os.fork()
        if pid == 0:
            try:
                become_systemd(directory, variables, rest[at + 1:], groups, keeper)
            except OSError as error:
                print(f'refused: {error}', flush=True)
            finally:
                os._exit(1)
        pidfd = os.pidfd_open(pid)
        if wait_ready(listener, pidfd):
            print(pid, flush=True)
            poll = select.poll()
            poll.register(pidfd, select.POLLIN)
            poll.register(0, 0)
            poll.poll()
        else:
            print('refused: systemd has not started', flush=True)
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.waitpid(pid, 0)
    finally:
        groups.remove()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == '__main__':
    main()
