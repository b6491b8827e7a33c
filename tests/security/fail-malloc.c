/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A library to be preloaded into weblocksd: makes chosen allocations of libsystemd fail. When
 * GLib's allocations fail, GLib aborts the process, which is tested as any other crash; libsystemd
 * returns -ENOMEM, which has to be handled.
 *
 * FAIL_MALLOC_FILE is the path of a file that is mapped and shared with the test: see Control.
 * Calls of the allocating functions are counted and fail if their return address is in
 * libsystemd. And while the test wants it, the kernel has no room to watch another descriptor. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    _Atomic uint64_t n_calls;   /* so far; a new process continues the count */
    _Atomic uint64_t fail_at;   /* the number of a call; 0: no failure */
    _Atomic uint64_t n_failing; /* the number of calls from there that fail */
    _Atomic uint64_t n_failed;
    _Atomic uint64_t watches_fail; /* not 0: each EPOLL_CTL_ADD fails, and is counted */
    _Atomic uint64_t n_watches_failed;
} Control;

/* The functions of the C library that are replaced here. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static Control *control;
static uintptr_t text_begin, text_end;

static int
find_text(struct dl_phdr_info *info, size_t size, void *data)
{
    if (strstr(info->dlpi_name, "libsystemd") == NULL)
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type == PT_LOAD && header->p_flags & PF_X) {
            text_begin = info->dlpi_addr + header->p_vaddr;
            text_end = text_begin + header->p_memsz;
        }
    }
    return 1;
}

__attribute__((constructor)) static void
begin(void)
{
    const char *path = getenv("FAIL_MALLOC_FILE");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *memory;

    if (fd < 0)
        return;
    memory = mmap(NULL, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    dl_iterate_phdr(find_text, NULL);
    if (memory != MAP_FAILED && text_end != 0)
        control = memory;
}

static int
is_to_fail(const void *caller)
{
    uint64_t number, fail_at;

    if (control == NULL || (uintptr_t)caller < text_begin || (uintptr_t)caller >= text_end)
        return 0;
    number = atomic_fetch_add(&control->n_calls, 1) + 1;
    fail_at = atomic_load(&control->fail_at);
    if (fail_at == 0 || number < fail_at || number >= fail_at + atomic_load(&control->n_failing))
        return 0;
    atomic_fetch_add(&control->n_failed, 1);
    errno = ENOMEM;
    return 1;
}

void *
malloc(size_t size)
{
    return is_to_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
    return is_to_fail(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *old, size_t size)
{
    return is_to_fail(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *
reallocarray(void *old, size_t n, size_t size)
{
    if (is_to_fail(__builtin_return_address(0)))
        return NULL;
    if (size != 0 && n > SIZE_MAX / size) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(old, n * size);
}

char *
strdup(const char *string)
{
    size_t size = strlen(string) + 1;
    char *copy = is_to_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(size);

    return copy != NULL ? memcpy(copy, string, size) : NULL;
}

char *
strndup(const char *string, size_t max)
{
    size_t length = strnlen(string, max);
    char *copy = is_to_fail(__builtin_return_address(0)) ? NULL : __libc_malloc(length + 1);

    if (copy != NULL) {
        memcpy(copy, string, length);
        copy[length] = '\0';
    }
    return copy;
}

/* As if the processes of the user had used up fs.epoll.max_user_watches. */
int
epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && control != NULL && atomic_load(&control->watches_fail) != 0) {
        atomic_fetch_add(&control->n_watches_failed, 1);
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, epoll_fd, operation, fd, event);
}
