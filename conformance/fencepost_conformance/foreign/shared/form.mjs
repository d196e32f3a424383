/**
 * What the Form says of arguments and documents, as a careful user would check it before calling an engine.
 *
 * A document is written once, as canonical text, by looking at property descriptors alone, so that no getter
 * and no `toJSON` runs; whoever reads it gets fresh objects.
 */

import { types } from "node:util";

/** A rejection by the engine, or by what stands before it: the `name` that a caller sees. */
export class EngineError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

export const LIMITS = Object.freeze({
  textScalars: 256,
  documentRootProperties: 1024,
  documentBytes: 1_048_576,
  inboxEvents: 1024,
  inboxBytes: 1_048_576,
  steps: 1024,
  attempts: 100,
  delaySeconds: 43_200,
  parkedSeconds: 31_536_000,
  retentionSeconds: 2_592_000,
});

// Arguments

const isText = (value) =>
  typeof value === "string" && value.isWellFormed() && value !== "" && [...value].length <= LIMITS.textScalars;

const isWithin = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;

const demand = (holds, what) => {
  if (!holds) throw new TypeError(what);
};

/** A name, an id or a type. */
export const checkText = (value, what) => demand(isText(value), `${what} is no text of 1 to 256 scalars`);

const checkKeys = (given, keys, what) => {
  demand(typeof given === "object" && given !== null, `${what} is no object`);
  demand(Reflect.ownKeys(given).every((key) => keys.includes(key)), `${what} has an unknown key`);
};

/** The arguments of a caller's call, with no other keys than these. */
export function input(given, keys) {
  checkKeys(given, keys, "the argument");
  return given;
}

/** Kind of a step -> its arguments, checked, as what is to be done. */
export const CONFIGURATION = {
  do(effect, policy) {
    demand(typeof effect === "function", "the effect is no function");
    if (policy === undefined) return { effect, maxAttempts: 1, delay: () => 0 };
    checkKeys(policy, ["maxAttempts", "initialDelaySeconds", "backoff", "maxDelaySeconds"], "the policy");
    const { maxAttempts, initialDelaySeconds: initial = 0, backoff = "constant" } = policy;
    const { maxDelaySeconds: most = LIMITS.delaySeconds } = policy;
    demand(isWithin(maxAttempts, 1, LIMITS.attempts), "maxAttempts is not 1 to 100");
    demand([initial, most].every((each) => isWithin(each, 0, LIMITS.delaySeconds)), "a delay is not 0 to 43200");
    demand(backoff === "constant" || backoff === "exponential", "backoff is unknown");
    const factor = backoff === "exponential" ? 2 : 1;
    return { effect, maxAttempts, delay: (failed) => Math.min(most, initial * factor ** (failed - 1)) };
  },
  sleep(seconds) {
    demand(isWithin(seconds, 0, LIMITS.parkedSeconds), "seconds is not 0 to 31536000");
    return { seconds };
  },
  wait(options) {
    checkKeys(options, ["type", "timeoutSeconds"], "the options");
    checkText(options.type, "the type");
    demand(isWithin(options.timeoutSeconds, 1, LIMITS.parkedSeconds), "timeoutSeconds is not 1 to 31536000");
    return { type: options.type, seconds: options.timeoutSeconds };
  },
};

// Documents

class InvalidDocument extends TypeError {}
class DocumentTooLarge extends RangeError {}

const refuse = (what) => {
  throw new InvalidDocument(`${what} is no document`);
};

const isObject = (value) => typeof value === "object" && value !== null;

/** The document in a text; `undefined` stands for none. */
export const read = (text) => (text === undefined ? undefined : JSON.parse(text));

/** The canonical text of a document, or `undefined` for none. */
export function write(root) {
  if (root === undefined) return undefined;
  if (!isObject(root) || Array.isArray(root)) refuse("a root that is no object");
  if (Reflect.ownKeys(root).length > LIMITS.documentRootProperties) refuse("a root with so many properties");
  let bytes = 0;
  const parts = [];
  const emit = (text) => {
    bytes += Buffer.byteLength(text);
    if (bytes > LIMITS.documentBytes) throw new DocumentTooLarge("the document is too large");
    parts.push(text);
  };
  const inside = new Set();
  const enter = (value) => {
    if (!isObject(value)) return emit(scalar(value));
    if (inside.has(value)) refuse("a cycle");
    inside.add(value);
    const isArray = Array.isArray(value);
    const keys = isArray ? elements(value) : properties(value);
    emit(isArray ? "[" : "{");
    keys.forEach((key, index) => {
      if (index > 0) emit(",");
      if (!isArray) emit(`${scalar(key)}:`);
      enter(own(value, key));
    });
    emit(isArray ? "]" : "}");
    inside.delete(value);
  };
  enter(root);
  return parts.join("");
}

function elements(value) {
  if (types.isProxy(value)) refuse("a Proxy");
  if (Object.getPrototypeOf(value) !== Array.prototype) refuse("an array of another class");
  if (Reflect.ownKeys(value).length !== value.length + 1) refuse("an array with a hole or a further property");
  return Array.from(value.keys(), String);
}

function properties(value) {
  if (types.isProxy(value)) refuse("a Proxy");
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) refuse("an object of a class");
  const keys = Reflect.ownKeys(value);
  if (keys.some((key) => typeof key === "symbol")) refuse("a symbol as key");
  return keys.sort(); // by UTF-16 units
}

function own(value, key) {
  const descriptor = Object.getOwnPropertyDescriptor(value, key) ?? refuse("an array with a hole");
  return Object.hasOwn(descriptor, "value") ? descriptor.value : refuse("an accessor");
}

function scalar(value) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string" && value.isWellFormed()) return JSON.stringify(value);
  if (typeof value === "number" && Number.isFinite(value)) return JSON.stringify(value);
  return refuse(`a ${typeof value} such as this`);
}

/** The text of a document that a caller gives; what is none is rejected under `name`. */
export function given(document, name) {
  try {
    return write(document);
  } catch (error) {
    throw new EngineError(error instanceof DocumentTooLarge ? "document_too_large" : name, error.message);
  }
}

/** The size of an event in an inbox: `{payload?, type}` in canonical UTF-8. */
export const eventBytes = ({ type, payload }) =>
  Buffer.byteLength(`{${payload === undefined ? "" : `"payload":${payload},`}"type":${JSON.stringify(type)}}`);
