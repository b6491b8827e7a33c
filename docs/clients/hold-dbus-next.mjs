// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Holds a lock until the end of its standard input: plain D-Bus with dbus-next on Node.js.
//
//     npm install dbus-next
//     node hold-dbus-next.mjs BUCKET NAME
//
// Prints `waiting`, `held TOKEN`, `lost REASON` and `released`.

import dbus from 'dbus-next';

const SERVICE = 'org.w3.WebLocks';
const ROOT = '/org/w3/WebLocks';
const DRIVER = {
    destination: 'org.freedesktop.DBus',
    path: '/org/freedesktop/DBus',
    interface: 'org.freedesktop.DBus',
};
// A number of our own: a request with this key can be repeated without becoming two.
const KEY = 1n;

const [, , bucket, name] = process.argv;
const bus = dbus.sessionBus();
let owner = null;   // the unique name of the service
let id = 0n;
let token = 0n;
let isEnding = false;

// The object path of a bucket; the encoding of sd_bus_path_encode().
function bucketPath(label) {
    const encoded = [...Buffer.from(label)].map((byte, i) => {
        const char = String.fromCharCode(byte);
        return (i > 0 ? /[A-Za-z0-9]/ : /[A-Za-z]/).test(char)
            ? char : `_${byte.toString(16).padStart(2, '0')}`;
    });
    return `${ROOT}/bucket/${encoded.join('')}`;
}

function end(status, line) {
    console.log(line);
    process.exit(status);
}

// The values of the reply; null if the service is gone, of which onOwner() is notified.
async function call(message) {
    try {
        const reply = await bus.call(new dbus.Message(message));
        if (message.destination === SERVICE)
            owner = reply.sender;
        return reply.body;
    } catch (error) {
        if (error.type.endsWith('.NotHeld'))
            return [];   // of a release: it has been released before
        if (!/NoReply|ServiceUnknown|NameHasNoOwner/.test(error.type))
            end(1, `failed ${error.type}`);
        return null;
    }
}

function callBucket(member, signature, body) {
    return call({destination: SERVICE, path: bucketPath(bucket), interface: SERVICE, member,
                 signature, body});
}

function update(newToken) {
    if (newToken !== 0n && token === 0n) {
        token = newToken;
        console.log(`held ${token}`);
    }
}

async function request() {
    const reply = await callBucket('Request', 'sa{sv}', [name, {key: new dbus.Variant('t', KEY)}]);
    if (reply === null)
        return;
    if (reply[1] === 0n && reply[0] !== id)
        console.log('waiting');
    id = reply[0];
    update(reply[1]);
}

// The service was restarted: Resync lists our requests that it has. Without a new owner no service is
// running, and the call starts it.
async function onOwner() {
    const reply = await call({destination: SERVICE, path: ROOT, member: 'Resync',
                              interface: 'org.w3.WebLocks.Service'});
    if (reply === null)
        return;
    const live = reply[0].find(entry => entry[2] === KEY);
    if (isEnding) {
        live ? release() : end(0, 'released');
    } else if (live) {
        id = live[1];
        update(live[5]);
    } else if (token !== 0n) {
        end(1, 'lost lost');
    } else {
        request();
    }
}

// A request that still waits ends with the connection. If the service is gone, onOwner() follows.
async function release() {
    isEnding = true;
    if (token === 0n || await callBucket('Release', 't', [id]) !== null)
        end(0, 'released');
}

function onMessage(message) {
    if (message.sender === 'org.freedesktop.DBus' && message.member === 'NameOwnerChanged' &&
        message.body[0] === SERVICE) {
        onOwner();
    } else if (message.sender === owner && message.interface === SERVICE &&
               message.body[0] === id) {
        // Signals that other programs send have another sender.
        if (message.member === 'Granted')
            update(message.body[4]);
        else if (message.member === 'Released')
            end(1, `lost ${message.body[4]}`);
    }
}

// A promise is resolved after all messages that have arrived together with its reply. So a signal
// must wait, too, or Granted would overtake the reply of the request that it is about.
bus.on('message', message => setImmediate(onMessage, message));

await call({...DRIVER, member: 'AddMatch', signature: 's', body: [
    `type='signal',sender='${DRIVER.destination}',member='NameOwnerChanged',arg0='${SERVICE}'`]});
await request();
process.stdin.on('end', release).resume();
