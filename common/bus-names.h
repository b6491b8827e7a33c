/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every name of the D-Bus interface (introspection/) that the code uses: bus name, object paths,
 * interfaces, option and filter keys, reasons, errors. */

#pragma once

#define BUS_SERVICE_NAME  "org.w3.WebLocks"
#define BUS_SERVICE_PATH  "/org/w3/WebLocks"
#define BUS_BUCKET_PREFIX "/org/w3/WebLocks/bucket"
#define BUS_USER_PREFIX   "/org/w3/WebLocks/user" /* see service/dbus/bucket-path.h */

#define BUS_LOCKS_INTERFACE   "org.w3.WebLocks"
#define BUS_SERVICE_INTERFACE "org.w3.WebLocks.Service"
#define BUS_INTERFACE_VERSION 1u

/* The interfaces of D-Bus that all objects have. */
#define BUS_PEER_INTERFACE           "org.freedesktop.DBus.Peer"
#define BUS_INTROSPECTABLE_INTERFACE "org.freedesktop.DBus.Introspectable"
#define BUS_PROPERTIES_INTERFACE     "org.freedesktop.DBus.Properties"

/* What the names of buckets that belong to a Unix group begin with; a decimal gid follows. */
#define BUS_GROUP_PREFIX "group:"
/* What the names of private sessions begin with, and their public names, which clients without a
 * request there see: see service/core/private-session.h. */
#define BUS_PRIVATE_PREFIX "private-"
#define BUS_PUBLIC_PREFIX  "private:"
/* The bucket of documents that a user's editors share, and the name by which a sandboxed
 * application addresses it. The names of locks there begin with a prefix, and a hash follows. */
#define BUS_DOCUMENTS_BUCKET      "documents"
#define BUS_USER_DOCUMENTS_BUCKET "user:documents"
#define BUS_DOCUMENT_PREFIX       "document:"
/* What the names of buckets that several machines share begin with. */
#define BUS_CLUSTER_PREFIX "cluster:"
/* What the clientIds of other machines' locks begin with; not a unique name. */
#define BUS_HOST_PREFIX "host:"

#define BUS_BUCKET_BYTES_MAX 255
#define BUS_APP_BYTES_MAX    255
#define BUS_HOST_BYTES_MAX   255
/* A unique name has at most 255; or the prefix and the name of a host. */
#define BUS_CLIENT_ID_BYTES_MAX (sizeof BUS_HOST_PREFIX - 1 + BUS_HOST_BYTES_MAX)

#define BUS_OPTION_MODE         "mode"
#define BUS_OPTION_IF_AVAILABLE "ifAvailable"
#define BUS_OPTION_STEAL        "steal"
#define BUS_OPTION_SIGNAL       "signal"
#define BUS_OPTION_TIMEOUT      "timeout"
#define BUS_OPTION_WHY          "why"
#define BUS_OPTION_FOR          "for"
#define BUS_OPTION_KEY          "key"
#define BUS_OPTION_SLOTS        "slots"
#define BUS_OPTION_VERSION      "version"  /* an option of OpenSocket */
#define BUS_OPTION_CLIENT_ID    "clientId" /* an option of Break */
#define BUS_OPTION_ID           "id"       /* an option of Break */
#define BUS_OPTION_FILE         "file"     /* these: options of OpenDocument */
#define BUS_OPTION_NAME         "name"
#define BUS_OPTION_PORTAL       "portal"

#define BUS_PARAMETER_VERSION    "version"
#define BUS_PARAMETER_CELLS      "cells"
#define BUS_PARAMETER_MAX_PACKET "maxPacket"

#define BUS_FILTER_NAME      "name"
#define BUS_FILTER_PREFIX    "prefix"
#define BUS_FILTER_STATE     "state"
#define BUS_FILTER_CLIENT_ID "clientId"
#define BUS_FILTER_ID        "id"
#define BUS_FILTER_AFTER     "after"
#define BUS_FILTER_LIMIT     "limit"

/* The most entries that Inspect returns. */
#define BUS_INSPECT_LIMIT_MAX 1000

#define BUS_KIND_USER    "user"
#define BUS_KIND_FLATPAK "flatpak"
#define BUS_KIND_SNAP    "snap"
#define BUS_KIND_GROUP   "group"
#define BUS_KIND_CLUSTER "cluster"

#define BUS_STATE_HELD    "held"
#define BUS_STATE_PENDING "pending"

#define BUS_REASON_RELEASED    "released"
#define BUS_REASON_ABORTED     "aborted"
#define BUS_REASON_STOLEN      "stolen"
#define BUS_REASON_TIMEOUT     "timeout"
#define BUS_REASON_TERMINATED  "terminated"
#define BUS_REASON_LOST        "lost"
#define BUS_REASON_UNAVAILABLE "unavailable"

#define BUS_ERROR_PREFIX            "org.w3.WebLocks.Error."
#define BUS_ERROR_NOT_SUPPORTED     BUS_ERROR_PREFIX "NotSupported"
#define BUS_ERROR_SECURITY          BUS_ERROR_PREFIX "Security"
#define BUS_ERROR_INVALID_STATE     BUS_ERROR_PREFIX "InvalidState"
#define BUS_ERROR_NOT_HELD          BUS_ERROR_PREFIX "NotHeld"
#define BUS_ERROR_UNAVAILABLE       BUS_ERROR_PREFIX "Unavailable"
#define BUS_ERROR_INVALID_ARGS      "org.freedesktop.DBus.Error.InvalidArgs"
#define BUS_ERROR_LIMITS_EXCEEDED   "org.freedesktop.DBus.Error.LimitsExceeded"
#define BUS_ERROR_ACCESS_DENIED     "org.freedesktop.DBus.Error.AccessDenied"
#define BUS_ERROR_NAME_HAS_NO_OWNER "org.freedesktop.DBus.Error.NameHasNoOwner"
#define BUS_ERROR_NO_REPLY          "org.freedesktop.DBus.Error.NoReply"
#define BUS_ERROR_SERVICE_UNKNOWN   "org.freedesktop.DBus.Error.ServiceUnknown"
#define BUS_ERROR_UNKNOWN_METHOD    "org.freedesktop.DBus.Error.UnknownMethod"
#define BUS_ERROR_UNKNOWN_OBJECT    "org.freedesktop.DBus.Error.UnknownObject"

#define BUS_DRIVER_NAME      "org.freedesktop.DBus"
#define BUS_DRIVER_PATH      "/org/freedesktop/DBus"
#define BUS_DRIVER_INTERFACE "org.freedesktop.DBus"
