/* SPDX-FileCopyrightText: 2026 The WebLocks for D-Bus authors
 * SPDX-License-Identifier: LGPL-2.1-or-later */

/* Every name of the contract (introspection/) that code spells: bus name, paths, interfaces,
 * option and filter keys, reasons, errors. */

#pragma once

#define WIRE_BUS_NAME      "org.w3.WebLocks"
#define WIRE_SERVICE_PATH  "/org/w3/WebLocks"
#define WIRE_BUCKET_PREFIX "/org/w3/WebLocks/bucket"

#define WIRE_LOCKS_INTERFACE   "org.w3.WebLocks"
#define WIRE_SERVICE_INTERFACE "org.w3.WebLocks.Service"
#define WIRE_INTERFACE_VERSION 1u

#define WIRE_BUCKET_BYTES_MAX 255

#define WIRE_OPTION_MODE         "mode"
#define WIRE_OPTION_IF_AVAILABLE "ifAvailable"
#define WIRE_OPTION_STEAL        "steal"
#define WIRE_OPTION_SIGNAL       "signal"
#define WIRE_OPTION_TIMEOUT      "timeout"
#define WIRE_OPTION_WHY          "why"
#define WIRE_OPTION_KEY          "key"
#define WIRE_OPTION_VERSION      "version" /* of OpenSocket */

#define WIRE_PARAMETER_VERSION    "version"
#define WIRE_PARAMETER_MAX_PACKET "maxPacket"

#define WIRE_FILTER_NAME   "name"
#define WIRE_FILTER_PREFIX "prefix"
#define WIRE_FILTER_STATE  "state"
#define WIRE_FILTER_AFTER  "after"
#define WIRE_FILTER_LIMIT  "limit"

#define WIRE_STATE_HELD    "held"
#define WIRE_STATE_PENDING "pending"

#define WIRE_REASON_RELEASED   "released"
#define WIRE_REASON_ABORTED    "aborted"
#define WIRE_REASON_STOLEN     "stolen"
#define WIRE_REASON_TIMEOUT    "timeout"
#define WIRE_REASON_TERMINATED "terminated"
#define WIRE_REASON_LOST       "lost"

#define WIRE_ERROR_PREFIX            "org.w3.WebLocks.Error."
#define WIRE_ERROR_NOT_SUPPORTED     WIRE_ERROR_PREFIX "NotSupported"
#define WIRE_ERROR_SECURITY          WIRE_ERROR_PREFIX "Security"
#define WIRE_ERROR_INVALID_STATE     WIRE_ERROR_PREFIX "InvalidState"
#define WIRE_ERROR_NOT_HELD          WIRE_ERROR_PREFIX "NotHeld"
#define WIRE_ERROR_INVALID_ARGS      "org.freedesktop.DBus.Error.InvalidArgs"
#define WIRE_ERROR_LIMITS_EXCEEDED   "org.freedesktop.DBus.Error.LimitsExceeded"
#define WIRE_ERROR_ACCESS_DENIED     "org.freedesktop.DBus.Error.AccessDenied"
#define WIRE_ERROR_NAME_HAS_NO_OWNER "org.freedesktop.DBus.Error.NameHasNoOwner"
#define WIRE_ERROR_NO_REPLY          "org.freedesktop.DBus.Error.NoReply"
#define WIRE_ERROR_SERVICE_UNKNOWN   "org.freedesktop.DBus.Error.ServiceUnknown"
#define WIRE_ERROR_UNKNOWN_METHOD    "org.freedesktop.DBus.Error.UnknownMethod"
#define WIRE_ERROR_UNKNOWN_OBJECT    "org.freedesktop.DBus.Error.UnknownObject"

#define WIRE_DRIVER_NAME      "org.freedesktop.DBus"
#define WIRE_DRIVER_PATH      "/org/freedesktop/DBus"
#define WIRE_DRIVER_INTERFACE "org.freedesktop.DBus"
