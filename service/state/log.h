/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* A file of frames that survives the death of the process at any instruction.
 *
 * The file has a head, which identifies its bus and boot, then frames, then zeros. A frame is what
 * one turn has changed, in one pwrite(). It has the size of its records and that of the file, the
 * records, and a digest which depends on all frames before it. So a file that was cut or changed is
 * detected. A kill can only leave the beginning of the last frame, with zeros behind it: nothing of
 * that turn was sent, so the frame is not read. (Damage that leaves only zeros from there on looks
 * the same.) The first frame after the file has grown begins in the part that the size in the frame
 * before it covers, so that a cut there is detected too.
 *
 * The file never grows by a frame: room is allocated before (fallocate). A second file of the same
 * size, `PATH.new`, is there to replace the first: one frame that has everything is written into
 * it, and then the names are exchanged. So to replace the file never fails for lack of space. On a
 * file system without fallocate(), the C library allocates by writing; if it can't, or if the file
 * system does not keep that space, both can fail.
 *
 * Both files are locked while a process writes them. */

#pragma once

#include <glib.h>

#define LOG_ID_BYTES 16

typedef struct {
    guint64 magic;
    guint64 version;
    guint8 bus_id[LOG_ID_BYTES];
    guint8 boot_id[LOG_ID_BYTES];
    guint64 digest; /* of what is before it */
} LogHead;

typedef struct {
    int fd;     /* -1: there is none that can be used */
    gsize size; /* including the zeros */
    gsize end;  /* there are only zeros after it */
} LogFile;

typedef struct {
    char *path;
    char *spare_path;
    LogHead head;
    LogFile file;
    LogFile spare;
    guint64 digest; /* of the last frame */
} Log;

/* Opens and locks the file, if it is there. NULL without an error: another process has locked it.
 */
Log *log_open(const char *path, const guint8 *bus_id, const guint8 *boot_id, GError **error);
void log_free(Log *log);

/* Reads the whole file. Returns the records of all frames, owned. NULL: with an error if that is
 * not possible now, for lack of memory for instance; with `*out_fault` if it is no file that
 * log_open() could have written. */
guint8 *log_read(const Log *log, gsize *out_size, const char **out_fault, GError **error);

/* Rename the file to `path`, so that there is none; give it this name too, and not write it again.
 */
void log_put_aside(Log *log, const char *path);
void log_keep(Log *log, const char *path);

/* Makes room for `size` bytes in both files. The spare file is created if it is not there. */
gboolean log_reserve(Log *log, gsize size);

/* Cuts the spare file off at `size`, if it is larger. What is left keeps its room. */
void log_shrink_spare(Log *log, gsize size);

/* A frame is written in three steps: this function, appending its records to `frame`, and one of
 * the other two. Records are multiples of eight bytes. On failure, nothing was written that would
 * be read; log_append() fails without an error if the file has no room for the frame. */
void log_begin_frame(GByteArray *frame);
gboolean log_append(Log *log, GByteArray *frame, GError **error);
gboolean log_replace(Log *log, GByteArray *frame, GError **error);

/* Whether the file still has its name, and the spare file if there is one. */
gboolean log_is_in_place(const Log *log);

/* The head of a file, and what ends a frame: returns the digest, which the next frame continues. */
LogHead log_make_head(const guint8 *bus_id, const guint8 *boot_id);
guint64 log_seal(GByteArray *frame, guint64 previous, gsize file_size);

/* Of any bytes as those of a file: returns why they can't be used, or NULL. Then they begin with
 * the records of all frames, which have `*size` bytes. `head` has the ids that are expected. */
const char *log_extract_records(const LogHead *head, guint8 *bytes, gsize *size);
