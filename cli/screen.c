/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

#include "cli/screen.h"

#include <glib-unix.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "cli/terminal.h"
#include "cli/text.h"

/* Changes within this time are drawn together. */
#define REDRAW_MS 50

/* Alternate screen, no cursor, and no wrapping of lines: the terminal may draw some characters
 * wider than text_width() has them. */
#define TERMINAL_OPEN       "\033[?1049h\033[?25l\033[?7l"
#define TERMINAL_CLOSE      "\033[?7h\033[?25h\033[?1049l"
#define TERMINAL_HOME       "\033[H"
#define TERMINAL_CLEAR_LINE "\033[K"
#define TERMINAL_CLEAR_REST "\033[J"

static const int ending_signals[] = {SIGHUP, SIGINT, SIGTERM};

struct Screen {
    Table *(*get)(gpointer data, char **out_title);
    void (*quit)(int signal, gpointer data);
    gpointer data;
    const GSource *signals[G_N_ELEMENTS(ending_signals)];
    gboolean has_keys;
    struct termios before; /* only if `has_keys` */
    guint redraw_id;
};

/* After a character in the last column the cursor is still there, so clearing the rest of the line
 * would clear that character. */
static void
draw_line(char *line, guint columns)
{
    text_cut(line, columns);
    printf("%s%s\n", line, text_width(line) < columns ? TERMINAL_CLEAR_LINE : "");
}

static void
draw(Screen *self)
{
    g_autofree char *title = NULL;
    g_autoptr(Table) table = self->get(self->data, &title);
    g_autoptr(GPtrArray) lines = table_to_lines(table);
    g_autofree char *safe_title = text_for_terminal(title);
    TerminalSize size = terminal_get_size(STDOUT_FILENO);
    /* The last row stays empty: the cursor is there. */
    guint rows = MIN(lines->len, MAX(size.rows, 3) - 2);

    fputs(TERMINAL_HOME, stdout);
    draw_line(safe_title, size.columns);
    for (guint i = 0; i < rows; i++)
        draw_line(lines->pdata[i], size.columns);
    fputs(TERMINAL_CLEAR_REST, stdout);
    fflush(stdout);
}

static gboolean
on_redraw(gpointer data)
{
    Screen *self = data;

    self->redraw_id = 0;
    draw(self);
    return G_SOURCE_REMOVE;
}

/* Each second, and when the size of the terminal has changed. */
static gboolean
on_tick(gpointer data)
{
    draw(data);
    return G_SOURCE_CONTINUE;
}

static gboolean
on_key(int fd, GIOCondition condition, gpointer data)
{
    Screen *self = data;
    char key;

    if (read(fd, &key, 1) <= 0)
        return G_SOURCE_REMOVE;
    if (key == 'q' || key == 'Q')
        self->quit(0, self->data);
    return G_SOURCE_CONTINUE;
}

static gboolean
on_signal(gpointer data)
{
    Screen *self = data;
    const GSource *source = g_main_current_source();

    for (guint i = 0; i < G_N_ELEMENTS(ending_signals); i++)
        if (source == self->signals[i])
            self->quit(ending_signals[i], self->data);
    return G_SOURCE_CONTINUE;
}

/* Keys are delivered immediately and not shown. Ctrl+C still sends a signal; the keys of other
 * signals, which would leave the terminal as it is now, are disabled. */
static void
take_keys(Screen *self)
{
    struct termios mode;

    self->has_keys = tcgetattr(STDIN_FILENO, &self->before) == 0;
    if (!self->has_keys)
        return;
    mode = self->before;
    mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    mode.c_cc[VSUSP] = _POSIX_VDISABLE;
    mode.c_cc[VQUIT] = _POSIX_VDISABLE;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
    g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_key, self);
}

Screen *
screen_open(Table *(*get)(gpointer data, char **out_title),
            void (*quit)(int signal, gpointer data),
            gpointer data)
{
    Screen *self = g_new0(Screen, 1);

    self->get = get;
    self->quit = quit;
    self->data = data;
    for (guint i = 0; i < G_N_ELEMENTS(ending_signals); i++)
        self->signals[i] = g_main_context_find_source_by_id(
            NULL, g_unix_signal_add(ending_signals[i], on_signal, self));
    g_unix_signal_add(SIGWINCH, on_tick, self);
    g_timeout_add_seconds(1, on_tick, self);
    take_keys(self);
    fputs(TERMINAL_OPEN, stdout);
    draw(self);
    return self;
}

void
screen_changed(Screen *self)
{
    if (self->redraw_id == 0)
        self->redraw_id = g_timeout_add(REDRAW_MS, on_redraw, self);
}

void
screen_close(Screen *self)
{
    while (g_source_remove_by_user_data(self))
        ;
    fputs(TERMINAL_CLOSE, stdout);
    fflush(stdout);
    if (self->has_keys)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &self->before);
    g_free(self);
}
