/**
 * Documents: the JSON objects that cross the border between application and Host, as canonical text.
 *
 * A document is written once, when it is handed in, and from then on is a string. Whoever reads it gets fresh
 * objects, so that no mutation reaches the record (DOC-9). Writing looks at property descriptors alone: no
 * getter, no `toJSON` and no trap of a Proxy runs (DOC-6). It keeps its own stack, since nothing bounds the
 * depth of a document, and it counts bytes while it goes, since a small graph of shared objects can be a huge
 * text.
 */

import { types } from "node:util";

import { LIMITS } from "./limits.mjs";

export class InvalidDocument extends TypeError {}
export class DocumentTooLarge extends RangeError {}

const refuse = (what) => {
  throw new InvalidDocument(`${what} is no document`);
};

const isObject = (value) => typeof value === "object" && value !== null;

/** The document in a text; `undefined` stands for none. */
export const read = (text) => (text === undefined ? undefined : JSON.parse(text));

/** The canonical text (RFC 8785) of a document, or `undefined` for none (DOC-7). */
export function write(root) {
  if (root === undefined) return undefined;
  if (!isObject(root) || Array.isArray(root)) refuse("a root that is no object"); // DOC-1
  const parts = [];
  let bytes = 0;
  const emit = (text) => {
    bytes += Buffer.byteLength(text);
    if (bytes > LIMITS.documentBytes) throw new DocumentTooLarge("the document is too large"); // DOC-2
    parts.push(text);
  };

  const open = []; // the containers being written, outermost first
  const inside = new Set(); // the same, to see a cycle
  const enter = (value) => {
    if (!isObject(value)) return emit(scalar(value));
    if (inside.has(value)) refuse("a cycle"); // DOC-4; a shared object is written again (DOC-5)
    inside.add(value);
    const container = contents(value);
    open.push(container);
    emit(container.opening);
  };

  enter(root);
  if (open[0].keys.length > LIMITS.documentRootProperties) refuse("a root with so many properties"); // DOC-1
  while (open.length > 0) {
    const container = open.at(-1);
    if (container.next === container.keys.length) {
      emit(container.closing);
      inside.delete(container.value);
      open.pop();
      continue;
    }
    const key = container.keys[container.next];
    const separator = container.next === 0 ? "" : ",";
    emit(container.isArray ? separator : `${separator}${scalar(key)}:`);
    container.next += 1;
    enter(own(container.value, key));
  }
  return parts.join("");
}

/** What there is to write of an array or object, in order. */
function contents(value) {
  if (types.isProxy(value)) refuse("a Proxy"); // its traps would run
  const prototype = Object.getPrototypeOf(value);
  const keys = Reflect.ownKeys(value);
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) refuse("an array of another class");
    if (keys.length !== value.length + 1) refuse("an array with a hole or a further property"); // `length` is one
    return { value, isArray: true, keys: Array.from(value.keys(), String), next: 0, opening: "[", closing: "]" };
  }
  if (prototype !== Object.prototype && prototype !== null) refuse("an object of a class"); // DOC-4
  if (keys.some((key) => typeof key === "symbol")) refuse("a symbol as key"); // DOC-4
  return { value, isArray: false, keys: keys.sort(), next: 0, opening: "{", closing: "}" }; // by UTF-16 units
}

/** The value of an own property, without running anything (DOC-6). */
function own(value, key) {
  const descriptor = Object.getOwnPropertyDescriptor(value, key) ?? refuse("an array with a hole"); // DOC-3
  return Object.hasOwn(descriptor, "value") ? descriptor.value : refuse("an accessor"); // DOC-4
}

/** The text of what is neither array nor object. */
function scalar(value) {
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? JSON.stringify(value) : refuse("a lone surrogate"); // DOC-3
    case "number":
      return Number.isFinite(value) ? JSON.stringify(value) : refuse("a number that is not finite"); // DOC-3
    case "boolean":
      return String(value);
    default:
      return value === null ? "null" : refuse(`a ${typeof value}`); // DOC-4
  }
}
