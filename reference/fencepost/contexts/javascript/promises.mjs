/**
 * What the application's code gives back, directly or through a promise, and promises that it is given.
 *
 * `await` and `resolve` look up `constructor` and `then`, which the application can have replaced. Here a
 * real promise is asked by the original `then`, whatever stands in its place now; a `constructor` of its own
 * shields the promise meanwhile, so that no species is constructed. Only an object that has a `then` of its
 * own making, as data, is called as the language would call it: in a later microtask, and its first answer
 * counts. An accessor named `then` is never run; what has one is a value like any other.
 */

import { types } from "node:util";
import {
  apply, defineProperty, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, isObject, ObjectPrototype,
  originalThen, PromiseClass, PromisePrototype, promiseThen,
} from "./intrinsics.mjs";

const { isPromise, isProxy } = types;
const PLAIN = { __proto__: null, value: undefined, writable: true, enumerable: false, configurable: true };
const SETTLED = defineProperty(Promise.resolve(), "constructor", PLAIN);

/** How something ended, once it has. */
export class Outcome {
  settled = false;
  failed = false;
  value = undefined;
}

/** The `then` that the language would call on a value that is no untouched promise, or undefined. */
const thenOf = (value) => {
  for (let holder = value; holder !== null && !isProxy(holder); holder = getPrototypeOf(holder)) {
    const found = getOwnPropertyDescriptor(holder, "then");
    if (found === undefined || holder === ObjectPrototype) continue; // what all objects have is nobody's own
    if (holder === PromisePrototype && isPromise(value)) return originalThen; // whatever it was replaced by
    return hasOwn(found, "value") && typeof found.value === "function" ? found.value : undefined;
  }
  return isPromise(value) ? originalThen : undefined;
};

/** The original `then` on a real promise, without a look at its species. */
export const subscribe = (promise, fulfilled, rejected) => {
  const kept = getOwnPropertyDescriptor(promise, "constructor");
  try {
    defineProperty(promise, "constructor", PLAIN);
  } catch {
    // frozen: then it has the constructor that it has
  }
  try {
    promiseThen(promise, fulfilled, rejected);
  } finally {
    try {
      if (kept === undefined) delete promise.constructor;
      else defineProperty(promise, "constructor", { __proto__: null, ...kept });
    } catch {
      // as above
    }
  }
};

/** Follows a value through promises and thenables to its end, in `outcome`; nothing of it is run at once. */
export const follow = (value, outcome) => {
  let heard = false;
  const end = (failed) => (given) => {
    if (heard) return;
    heard = true;
    outcome.settled = true;
    outcome.failed = failed;
    outcome.value = given;
  };
  const onward = (given) => {
    if (heard) return;
    heard = true;
    follow(given, outcome);
  };
  try {
    const then = isObject(value) && !isProxy(value) ? thenOf(value) : undefined;
    if (then === undefined) end(false)(value);
    else if (then === originalThen) subscribe(value, end(false), end(true));
    else {
      promiseThen(SETTLED, () => {
        try {
          apply(then, value, [onward, end(true)]);
        } catch (error) {
          end(true)(error);
        }
      });
    }
  } catch (error) {
    end(true)(error);
  }
};

/** A promise for the application, and what settles it. */
export class Deferred {
  promise;
  resolve;
  reject;

  constructor() {
    this.promise = new PromiseClass((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}
