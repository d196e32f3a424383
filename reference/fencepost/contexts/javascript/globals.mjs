/**
 * What application code finds in its global object: the language, and the part of the platform that cannot
 * reach outside. Everything else is deleted, so that a new release of Node adds nothing by itself.
 */

import { formatWithOptions } from "node:util";
import { writeSync } from "node:fs";
import { fetch, Headers, Request, Response } from "./fetch.mjs";
import { apply, freeze, ownKeys } from "./intrinsics.mjs";
import { subscribe } from "./promises.mjs";
import { clearTimeout, setInterval, setTimeout } from "./timers.mjs";

const LANGUAGE = `
  AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DataView
  Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function
  Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map Math NaN Number Object Promise Proxy
  RangeError ReferenceError Reflect RegExp Set String SuppressedError Symbol SyntaxError TypeError URIError
  Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI decodeURIComponent
  encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape`;

const PLATFORM = `
  AbortController AbortSignal CryptoKey Crypto SubtleCrypto CustomEvent DOMException Event EventTarget
  TextDecoder TextEncoder URL URLPattern URLSearchParams atob btoa crypto queueMicrotask structuredClone`;

const STANDARD_ERROR = 2;

const log = (...values) => {
  try {
    writeSync(STANDARD_ERROR, `${apply(formatWithOptions, undefined, [{ customInspect: false }, ...values])}\n`);
  } catch {
    // nobody reads it, or it cannot be shown
  }
};

/** Tells the log of what the application threw where nobody could catch it. */
export const complain = (error) => log(error);

const console = { debug: log, error: log, info: log, log, trace: log, warn: log };

const now = performance.now.bind(performance);
const { timeOrigin } = performance;

const OWN = {
  clearInterval: clearTimeout,
  clearTimeout,
  console,
  fetch,
  Headers,
  performance: freeze({ now, timeOrigin }),
  Request,
  Response,
  setInterval,
  setTimeout,
};

let computing = 0;

/** Whether the platform computes something in the background whose end will be a turn of its own. */
export const isComputing = () => computing > 0;

/** Has the methods of `crypto.subtle` counted while they compute. */
const countSubtle = () => {
  const done = () => { computing -= 1; };
  for (const name of ownKeys(SubtleCrypto.prototype)) {
    const method = SubtleCrypto.prototype[name];
    if (name === "constructor" || typeof method !== "function") continue;
    SubtleCrypto.prototype[name] = {
      [name](...given) {
        const promise = apply(method, this, given);
        computing += 1;
        subscribe(promise, done, done);
        return promise;
      },
    }[name];
  }
};

/** `AbortSignal.timeout`, on our own timers. */
const abortAfter = () => {
  const { AbortController: Controller, DOMException: ExceptionClass } = globalThis;
  const abort = Controller.prototype.abort;
  AbortSignal.timeout = (milliseconds) => {
    const controller = new Controller();
    const late = () => apply(abort, controller, [new ExceptionClass("the time is over", "TimeoutError")]);
    setTimeout(late, milliseconds);
    return controller.signal;
  };
};

/** Leaves what is listed, adds what is ours, and deletes the rest. */
export const settleGlobals = () => {
  countSubtle();
  abortAfter();
  const kept = new Set(`${LANGUAGE} ${PLATFORM}`.trim().split(/\s+/));
  for (const name of ownKeys(globalThis)) {
    if (!kept.has(name)) delete globalThis[name];
  }
  for (const name of Object.keys(OWN)) {
    Object.defineProperty(globalThis, name, {
      value: OWN[name], writable: true, enumerable: false, configurable: true,
    });
  }
};
