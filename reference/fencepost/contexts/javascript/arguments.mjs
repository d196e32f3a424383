/**
 * Arguments of calls as JSON for the parent, read by descriptors so that none of the application's code runs.
 *
 * Nothing is judged here: what has no JSON form becomes a marker that no check of the machine admits, and so
 * does what is too large for any of them, so that a careless argument does not fill the line.
 */

import { types } from "node:util";
import {
  getOwnPropertyDescriptor, hasOwn, isArray, isFinite, ownKeys, slice, stringify, TypeErrorClass,
} from "./intrinsics.mjs";

const { isProxy } = types;

const LONGEST = 1024; // units of a text: beyond every text that the Form admits, in scalars too
const MOST = 64; // keys of an object

const foreign = (what) => `{"$foreign":"${what}"}`;

/** Whether a value can be looked at by its own properties alone. */
const isRecord = (value) => typeof value === "object" && value !== null && !isProxy(value) && !isArray(value);

/** A value that should be a text or a number. */
export const scalar = (value) => {
  switch (typeof value) {
    case "string":
      return stringify(value.length > LONGEST ? slice(value, 0, LONGEST) : value);
    case "number":
      return isFinite(value) ? `${value}` : foreign("number");
    case "boolean":
      return value ? "true" : "false";
    default:
      return foreign(value === null ? "null" : typeof value);
  }
};

/** An object of such values; a key that is undefined is left out (BND-11). */
export const record = (value) => {
  if (!isRecord(value)) return foreign(typeof value);
  const keys = ownKeys(value);
  if (keys.length > MOST) return foreign("object");
  let members = "";
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index];
    const found = getOwnPropertyDescriptor(value, key);
    if (typeof key !== "string" || found === undefined || !hasOwn(found, "value")) return foreign("object");
    if (found.value === undefined) continue;
    members += `${members === "" ? "" : ","}${scalar(key)}:${scalar(found.value)}`;
  }
  return `{${members}}`;
};

/**
 * The values of a call's one object, under these keys and no others: `{key: value}` without a prototype.
 *
 * Throws a TypeError that says what to give (BND-1, BND-14).
 */
export const fields = (value, first, second, what) => {
  const found = { __proto__: null, [first]: undefined, [second]: undefined };
  if (value === undefined) return found; // BND-11
  if (!isRecord(value)) throw new TypeErrorClass(`${what} takes an object with ${first} and ${second}`);
  const keys = ownKeys(value);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index];
    const descriptor = getOwnPropertyDescriptor(value, key);
    if ((key !== first && key !== second) || descriptor === undefined || !hasOwn(descriptor, "value")) {
      throw new TypeErrorClass(`${what} takes ${first} and ${second}, as plain values, and nothing else`);
    }
    found[key] = descriptor.value;
  }
  return found;
};
