// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Runs scripts as processes until they exit.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';

import {inTime} from './testing.js';

const HERE = GLib.path_get_dirname(GLib.filename_from_uri(import.meta.url)[0]);
export const FOLDER = GLib.build_filenamev([HERE, '..', '..', 'client-lib', 'gjs']);

// The folder of the binding in scripts, when it is installed.
const INSTALLED = 'file:///usr/share/weblocks-1/gjs/';

// Runs a script that imports the installed module, with the module of the source tree in its place.
export async function runScript(t, script) {
    const folder = `${GLib.filename_to_uri(FOLDER, null)}/`;
    const [file, stream] = Gio.File.new_tmp('weblocks-XXXXXX.js');
    t.cleanup(() => file.delete(null));
    stream.close(null);
    file.replace_contents(script.replaceAll(INSTALLED, folder), null, false,
        Gio.FileCreateFlags.NONE, null);
    const process = Gio.Subprocess.new(['gjs', '-m', file.get_path()],
        Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_PIPE);
    t.cleanup(() => process.force_exit());
    const [out, err] = await inTime(new Promise((resolve, reject) => {
        process.communicate_utf8_async(null, null, (_process, result) => {
            try {
                resolve(process.communicate_utf8_finish(result).slice(1));
            } catch (error) {
                reject(error);
            }
        });
    }), 'end of the script');
    return {out, err, code: process.get_if_exited() ? process.get_exit_status() : null};
}
