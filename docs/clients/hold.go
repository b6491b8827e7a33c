// SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
// SPDX-License-Identifier: LGPL-2.1-or-later

// Holds a lock until the end of its standard input: plain D-Bus with godbus.
//
//	GO111MODULE=off GOPATH=/usr/share/gocode go build hold.go
//	hold BUCKET NAME
//
// That is with Debian's golang-dbus-dev; with Go modules the package is github.com/godbus/dbus/v5.
// Prints `waiting`, `held TOKEN`, `lost REASON` and `released`.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/godbus/dbus"
)

const (
	service = "org.w3.WebLocks"
	root    = "/org/w3/WebLocks"

	// A number of our own: a request with this key can be repeated without becoming two.
	key uint64 = 1
)

// What Resync returns of each lock and request.
type entry struct {
	Bucket    string
	ID, Key   uint64
	Name      string
	Mode      string
	Token     uint64
	TimeoutMS uint64
	Wanted    bool
}

type holder struct {
	name     string
	bucket   dbus.BusObject
	service  dbus.BusObject
	owner    string // the unique name of the service
	id       uint64
	token    uint64
	isEnding bool
}

// The object path of a bucket; the encoding of sd_bus_path_encode().
func bucketPath(bucket string) dbus.ObjectPath {
	var path strings.Builder
	for i, c := range []byte(bucket) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9' {
			path.WriteByte(c)
		} else {
			fmt.Fprintf(&path, "_%02x", c)
		}
	}
	return dbus.ObjectPath(root + "/bucket/" + path.String())
}

func end(status int, words ...interface{}) {
	fmt.Println(words...)
	os.Exit(status)
}

// Whether the call was served. If the service is gone, onOwner is called later.
func isServed(err error) bool {
	var reply dbus.Error
	if errors.As(err, &reply) {
		switch reply.Name {
		case service + ".Error.NotHeld":
			return true // of a release: it has been released before
		case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
			"org.freedesktop.DBus.Error.NameHasNoOwner":
			return false
		}
		end(1, "failed", reply.Name)
	}
	if err != nil {
		end(1, "failed", err)
	}
	return true
}

func (h *holder) update(token uint64) {
	if token != 0 && h.token == 0 {
		h.token = token
		fmt.Println("held", token)
	}
}

func (h *holder) request() {
	var id, token uint64
	options := map[string]dbus.Variant{"key": dbus.MakeVariant(key)}
	if !isServed(h.bucket.Call(service+".Request", 0, h.name, options).Store(&id, &token)) {
		return
	}
	if token == 0 && id != h.id {
		fmt.Println("waiting")
	}
	h.id = id
	h.update(token)
}

// A request that still waits ends with the connection. If the service is gone, onOwner follows.
func (h *holder) release() {
	h.isEnding = true
	if h.token == 0 || isServed(h.bucket.Call(service+".Release", 0, h.id).Err) {
		end(0, "released")
	}
}

// The service was restarted: Resync lists our requests that it has. Without a new owner no service is
// running, and the call starts it.
func (h *holder) onOwner(owner string) {
	var entries []entry
	h.owner = owner
	if !isServed(h.service.Call(service+".Service.Resync", 0).Store(&entries)) {
		return
	}
	isLive := false
	for _, entry := range entries {
		if entry.Key == key {
			isLive = true
			h.id = entry.ID
			if !h.isEnding {
				h.update(entry.Token)
			}
		}
	}
	switch {
	case h.isEnding && isLive:
		h.release()
	case h.isEnding:
		end(0, "released")
	case !isLive && h.token != 0:
		end(1, "lost", "lost")
	case !isLive:
		h.request()
	}
}

// Signals for this client come without a match rule. Those of other programs have another sender.
func (h *holder) onSignal(signal *dbus.Signal) {
	if signal.Name == "org.freedesktop.DBus.NameOwnerChanged" &&
		signal.Sender == "org.freedesktop.DBus" && signal.Body[0] == service {
		h.onOwner(signal.Body[2].(string))
	}
	if signal.Sender != h.owner || signal.Path != h.bucket.Path() || signal.Body[0] != h.id {
		return
	}
	switch signal.Name {
	case service + ".Granted":
		h.update(signal.Body[4].(uint64))
	case service + ".Released":
		end(1, "lost", signal.Body[4])
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: hold BUCKET NAME")
		os.Exit(2)
	}
	// All signals, in order. They are handled after the reply to the call that is being made.
	bus, err := dbus.ConnectSessionBus(dbus.WithSignalHandler(dbus.NewSequentialSignalHandler()))
	if err != nil {
		end(1, "failed", err)
	}
	signals := make(chan *dbus.Signal)
	bus.Signal(signals)
	err = bus.AddMatchSignal(dbus.WithMatchSender("org.freedesktop.DBus"),
		dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, service))
	if err != nil {
		end(1, "failed", err)
	}
	h := holder{name: os.Args[2], bucket: bus.Object(service, bucketPath(os.Args[1])),
		service: bus.Object(service, root)}
	// Empty if there is none yet: then the request starts it, and NameOwnerChanged names it.
	isServed(bus.BusObject().Call("org.freedesktop.DBus.GetNameOwner", 0, service).Store(&h.owner))
	h.request()

	inputEnds := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(inputEnds)
	}()
	for {
		select {
		case signal, isOpen := <-signals:
			if !isOpen {
				end(1, "failed", "the connection to the bus has ended")
			}
			h.onSignal(signal)
		case <-inputEnds:
			inputEnds = nil // once
			h.release()
		}
	}
}
