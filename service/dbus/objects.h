/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* The objects of the service on the bus: their interfaces, which introspection/ describes, and
 * properties; and replies to calls of the interfaces of D-Bus itself, which all objects have.
 *
 * Every path that encodes valid names is a bucket (bucket-path.h). Introspection shows `default`
 * and those that Buckets lists for the caller (lists.h), and nothing below the paths of other
 * principals. */

#pragma once

#include "bus.h"
#include "cluster-packet.h"
#include "lock-call.h"

typedef enum {
    OBJECT_NONE,
    OBJECT_BUCKET,
    /* These have only the interfaces of D-Bus itself... */
    OBJECT_ROOT,
    OBJECT_ORG,
    OBJECT_W3,
    OBJECT_BUCKETS,
    /* ... and this has also the one of the service. */
    OBJECT_SERVICE,
} ObjectKind;

/* The properties of OBJECT_SERVICE. */
enum {
    PROPERTY_VERSION,
    PROPERTY_INTERFACE_VERSION,
    PROPERTY_LIMITS,
    PROPERTY_CLUSTER,
    N_PROPERTIES,
};

/* Returns the object at a path; `*out_bucket` is only set for OBJECT_BUCKET. */
ObjectKind objects_find(const char *path, BucketPath *out_bucket);

/* Whether the object has an interface. */
gboolean objects_have(ObjectKind object, const char *interface);

/* Returns a property's number; N_PROPERTIES if there is none. The interface may be "". */
guint objects_find_property(ObjectKind object, const char *interface, const char *name);

/* Returns the owned introspection data of an object. `nodes` are the elements of what else is
 * below it; NULL: nothing. */
char *objects_describe(ObjectKind object, const char *nodes);

/* Replies to Ping, GetMachineId, Introspect (LockCall.item is the ObjectKind), Get (the property)
 * and GetAll (how many of the properties). `status` is the gateway's, for the property Cluster;
 * NULL: it has not answered. */
void objects_reply(Client *client, const LockCall *call, const ClusterStatus *status);
