/**
 * The language as it was before any application code ran.
 *
 * Application code shares this realm, since a second realm would give it errors and arrays that are none of
 * ours (`instanceof` would fail). So it can put anything in the place of `Array.prototype.push` or
 * `Object.prototype.value`. The runtime therefore calls only what it has taken here, and keeps four rules:
 *
 * - no iteration (`for of`, spread of an iterable, destructuring of an array): it looks up an iterator;
 * - no assignment to a property that is not there yet, except on a list: it may meet a setter. Classes
 *   declare their fields, which defines them, and objects are literals;
 * - no reading of a property that may be missing, unless `own` guards it: it may meet a getter;
 * - no `await`, and no promise resolved with an object of the application's: both look up `then`.
 */

const { bind, call } = Function.prototype;

/** A method as a function whose first argument is what it is called on. */
const uncurry = bind.bind(call);

export const {
  apply, construct, get: reflectGet, getOwnPropertyDescriptor, getPrototypeOf, ownKeys,
} = Reflect;
export const { defineProperty, freeze, hasOwn, setPrototypeOf } = Object;
export const { isArray } = Array;
export const { isFinite } = Number;
export const { parse, stringify } = JSON;
export const { ceil, max } = Math;

export const ArrayPrototype = Array.prototype;
export const ErrorClass = Error;
export const MapClass = Map;
export const ObjectClass = Object;
export const ObjectPrototype = Object.prototype;
export const PromiseClass = Promise;
export const PromisePrototype = Promise.prototype;
export const SetClass = Set;
export const TypeErrorClass = TypeError;
export const Uint8ArrayClass = Uint8Array;
export const WeakMapClass = WeakMap;

export const arraySort = uncurry(Array.prototype.sort);
export const isWellFormed = uncurry(String.prototype.isWellFormed);
export const toWellFormed = uncurry(String.prototype.toWellFormed);
export const lowerCase = uncurry(String.prototype.toLowerCase);
export const upperCase = uncurry(String.prototype.toUpperCase);
export const slice = uncurry(String.prototype.slice);
export const trim = uncurry(String.prototype.trim);
export const regExpExec = uncurry(RegExp.prototype.exec);

export const mapGet = uncurry(Map.prototype.get);
export const mapSet = uncurry(Map.prototype.set);
export const mapHas = uncurry(Map.prototype.has);
export const mapDelete = uncurry(Map.prototype.delete);
export const mapForEach = uncurry(Map.prototype.forEach);
export const setAdd = uncurry(Set.prototype.add);
export const setHas = uncurry(Set.prototype.has);
export const setDelete = uncurry(Set.prototype.delete);
export const weakMapGet = uncurry(WeakMap.prototype.get);
export const weakMapSet = uncurry(WeakMap.prototype.set);
export const promiseThen = uncurry(Promise.prototype.then);
export const originalThen = Promise.prototype.then;

/** A growing list that inherits nothing, so that an index is never somebody's setter. */
export const list = () => setPrototypeOf([], null);

/** An own data property's value, or undefined; an accessor is not run. */
export const own = (object, key) => {
  const found = getOwnPropertyDescriptor(object, key);
  return found !== undefined && hasOwn(found, "value") ? found.value : undefined;
};

export const isObject = (value) =>
  (typeof value === "object" && value !== null) || typeof value === "function";
