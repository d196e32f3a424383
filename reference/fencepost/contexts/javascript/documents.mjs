/**
 * Documents, from a value of the application's to canonical text (RFC 8785), without running any of its code.
 *
 * A value is judged by its descriptors and its prototype alone (DOC-4, DOC-6). The walk keeps a stack of its
 * own, since depth is no limit of the Form, and counts bytes while it writes, since a graph of shared objects
 * can unfold without end (DOC-2, DOC-5). Numbers and strings are written by the language, whose rules the
 * canonical form borrows. A proxy is asked for before anything else: even `isArray` can run into one that was
 * revoked.
 */

import { types } from "node:util";
import { byteLength, tell } from "./channel.mjs";
import {
  arraySort, ArrayPrototype, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isArray, isFinite,
  isWellFormed, ObjectPrototype, ownKeys, parse, setAdd, SetClass, setDelete, setHas, setPrototypeOf, stringify,
} from "./intrinsics.mjs";

const {
  isAnyArrayBuffer, isArgumentsObject, isArrayBufferView, isBoxedPrimitive, isDate, isExternal,
  isGeneratorObject, isMap, isMapIterator, isModuleNamespaceObject, isNativeError, isPromise, isProxy,
  isRegExp, isSet, isSetIterator, isWeakMap, isWeakSet,
} = types;

const BEAT = 32_768; // values between two signs of life

/** What a document may hold; `start` says it, as the Form's table of limits has it. */
export const limits = { __proto__: null, bytes: 0, properties: 0 };

/** A value that is no document, and why; compared by identity. */
const INVALID = { __proto__: null, unfit: "invalid" };
const TOO_LARGE = { __proto__: null, unfit: "too_large" };

/** Whether an object keeps something inside that its properties do not show, whatever its prototype. */
const isExotic = (value) =>
  isDate(value) || isMap(value) || isSet(value) || isPromise(value) || isRegExp(value) ||
  isNativeError(value) || isBoxedPrimitive(value) || isAnyArrayBuffer(value) || isArrayBufferView(value) ||
  isArgumentsObject(value) || isWeakMap(value) || isWeakSet(value) || isGeneratorObject(value) ||
  isMapIterator(value) || isSetIterator(value) || isModuleNamespaceObject(value) || isExternal(value);

/** An open container: its keys (none for an array), and how many members are written. */
class Frame {
  container;
  keys;
  count;
  written = 0;
  outer;

  constructor(container, keys, count, outer) {
    this.container = container;
    this.keys = keys;
    this.count = count;
    this.outer = outer;
  }
}
setPrototypeOf(Frame.prototype, null);

/** Opens a container after the checks that look at none of its values; a reason where it is refused. */
const opened = (value, outer, room) => {
  if (isProxy(value)) return INVALID; // DOC-11
  if (isArray(value)) {
    if (getPrototypeOf(value) !== ArrayPrototype) return INVALID;
    const count = getOwnPropertyDescriptor(value, "length").value;
    if (count * 2 > room) return TOO_LARGE; // DOC-2: a member and its comma
    if (ownKeys(value).length !== count + 1) return INVALID; // DOC-4: a hole, or a property beside
    return new Frame(value, null, count, outer);
  }
  const prototype = getPrototypeOf(value);
  if ((prototype !== ObjectPrototype && prototype !== null) || isExotic(value)) return INVALID; // DOC-1, DOC-4
  const keys = ownKeys(value);
  const count = keys.length;
  if (count > limits.properties) return INVALID; // DOC-1, DOC-13
  if (count * 5 > room) return TOO_LARGE; // DOC-2: two quotes, a colon, a member and its comma
  for (let index = 0; index < count; index++) {
    if (typeof keys[index] !== "string" || !isWellFormed(keys[index])) return INVALID; // DOC-3, DOC-4
  }
  return new Frame(value, count > 1 ? arraySort(keys) : keys, count, outer); // by UTF-16 code units
};

/** The canonical text of a value that opens no container; a reason where it is refused. */
const leaf = (value) => {
  switch (typeof value) {
    case "string":
      return isWellFormed(value) ? stringify(value) : INVALID; // DOC-3
    case "number":
      return isFinite(value) ? `${value}` : INVALID; // DOC-4; -0 is written as 0
    case "boolean":
      return value ? "true" : "false";
    default:
      return value === null ? "null" : INVALID; // DOC-4
  }
};

const isContainer = (value) => typeof value === "object" && value !== null;

/**
 * The canonical text of a root document, null for `undefined`, or `{unfit}`.
 *
 * Every member pays for the comma behind it, the last one for the bracket that closes its container.
 */
export const encode = (root) => {
  if (root === undefined) return null; // DOC-7
  if (!isContainer(root) || isProxy(root) || isArray(root)) return INVALID; // DOC-1
  let room = limits.bytes - 1;
  let frame = opened(root, null, room);
  if (frame === INVALID || frame === TOO_LARGE) return frame;
  const active = new SetClass();
  setAdd(active, root);
  let text = "{";
  let beat = BEAT;
  for (;;) {
    if (frame.written === frame.count) {
      text += frame.keys === null ? "]" : "}";
      if (frame.count === 0) room -= 1; // else the last member has paid for it
      if (room < 0) return TOO_LARGE; // DOC-2
      setDelete(active, frame.container);
      frame = frame.outer;
      if (frame === null) return text;
      room -= 1;
      if (frame.written < frame.count) text += ",";
      continue;
    }
    const key = frame.keys === null ? frame.written : frame.keys[frame.written];
    frame.written += 1;
    const found = getOwnPropertyDescriptor(frame.container, key);
    if (found === undefined || !hasOwn(found, "value") || !found.enumerable) return INVALID; // DOC-4, DOC-6
    if (frame.keys !== null) {
      const member = `${stringify(key)}:`;
      room -= byteLength(member);
      text += member;
    }
    const value = found.value;
    if (--beat === 0) {
      beat = BEAT;
      tell('{"beat":true}');
    }
    if (isContainer(value)) {
      if (setHas(active, value)) return INVALID; // DOC-4: a cycle
      room -= 1;
      const inner = opened(value, frame, room);
      if (inner === INVALID || inner === TOO_LARGE) return inner;
      setAdd(active, value);
      text += inner.keys === null ? "[" : "{";
      frame = inner;
    } else {
      if (typeof value === "string" && value.length > room) return TOO_LARGE; // a unit takes at least a byte
      const written = leaf(value);
      if (written === INVALID) return INVALID;
      room -= (typeof value === "string" ? byteLength(written) : written.length) + 1;
      if (room < 0) return TOO_LARGE; // DOC-2
      text += written;
      if (frame.written < frame.count) text += ",";
    }
  }
};

/** A result of `encode` as JSON, for a message. */
export const told = (encoded) => {
  if (encoded === null) return "null";
  return typeof encoded === "string" ? stringify(encoded) : `{"unfit":${stringify(encoded.unfit)}}`;
};

/** A fresh value of canonical text, or undefined for null. */
export const decode = (text) => (text === null ? undefined : parse(text));
