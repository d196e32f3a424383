/**
 * A context: one evaluation of the application's module, one object of its class, one call of `run` (CTX-1,
 * CTX-3), in a thread that does nothing else.
 *
 * All that can set this thread going comes as a message of the Host: the beginning, the answer to a step call,
 * the answer to a `fetch`, the word that floating timers may fire. So a *turn* is what a message sets off, with
 * all its microtasks, and after each of them the Host is told that it is over. A step call is sent at the end
 * of its turn: had another call come in that turn, the two would overlap, and neither effect begins.
 *
 * It is no sandbox: the code of the application is trusted not to reach for what Node offers beside the web's
 * own functions.
 */

import { parentPort } from "node:worker_threads";

import { HostError, bindingOver } from "./binding.mjs";
import { read, write } from "./documents.mjs";
import { LIMITS, isName, isWithin, only } from "./limits.mjs";

const { setImmediate } = globalThis;
const never = new Promise(() => {});
const send = (message) => parentPort.postMessage(message);
const messageOf = (error) => (error instanceof Error && typeof error.message === "string" ? error.message : "");

process.on("uncaughtException", (error) => console.error(error)); // of a timer
process.on("unhandledRejection", () => {}); // of a Promise that nobody looks at

// Step calls

let active = null; // the call that is not settled yet
let toSend = null; // the same, as long as its turn goes on
let dead = false; // nothing that is awaited here goes on any more

/** Checks the name (STP-2) and that no other call is unsettled, and leaves the rest to the Host. */
function begin(kind, name, check, effect) {
  if (dead) return never;
  if (!isName(name)) return Promise.reject(new TypeError("a step name has 1 to 256 Unicode scalar values")); // STP-4
  if (active !== null) { // STP-6; from inside an effect, too (STP-7)
    dead = true;
    send({ word: "mismatch" });
    return never;
  }
  active = { ...Promise.withResolvers(), name, effect };
  toSend = { word: "call", kind, name, ...checked(check) };
  return active.promise; // STP-14
}

/** What is right with the arguments, or what is wrong; which of both counts only the Host knows (STP-3). */
function checked(check) {
  try {
    return { options: check() };
  } catch (error) {
    return { problem: error.message };
  }
}

const demand = (condition, what) => {
  if (!condition) throw new TypeError(what);
};

/** The policy of a `do` with its defaults (DO-2). */
function policyOf(given) {
  if (given === undefined) return { maxAttempts: 1, initialDelaySeconds: 0, maxDelaySeconds: 0 };
  const policy = only(["maxAttempts", "initialDelaySeconds", "backoff", "maxDelaySeconds"], given); // STP-15
  const { maxAttempts, initialDelaySeconds = 0, backoff = "constant", maxDelaySeconds = LIMITS.delaySeconds } = policy;
  demand(isWithin(maxAttempts, 1, LIMITS.attempts), "maxAttempts is an integer from 1 to 100");
  demand(isWithin(initialDelaySeconds, 0, LIMITS.delaySeconds), "initialDelaySeconds is an integer from 0 to 43200");
  demand(isWithin(maxDelaySeconds, 0, LIMITS.delaySeconds), "maxDelaySeconds is an integer from 0 to 43200");
  demand(["constant", "exponential"].includes(backoff), "backoff is constant or exponential");
  return { maxAttempts, initialDelaySeconds, backoff, maxDelaySeconds };
}

const step = Object.freeze({ // STP-1
  do(name, effect, retryPolicy) {
    const check = () => {
      demand(typeof effect === "function", "an effect is a function"); // DO-1
      return policyOf(retryPolicy);
    };
    return begin("do", name, check, effect);
  },
  sleep: (name, seconds) =>
    begin("sleep", name, () => {
      demand(isWithin(seconds, 0, LIMITS.sleepSeconds), "seconds is an integer from 0 to 31536000"); // SLP-1
      return { seconds };
    }),
  waitForEvent: (name, given) =>
    begin("wait", name, () => {
      const { type, timeoutSeconds } = only(["type", "timeoutSeconds"], given); // STP-15
      demand(isName(type), "an event type has 1 to 256 Unicode scalar values"); // STP-2
      demand(isWithin(timeoutSeconds, 1, LIMITS.waitSeconds), "timeoutSeconds is an integer from 1 to 31536000"); // WFE-1
      return { type, seconds: timeoutSeconds };
    }),
});

// Outcomes

const genuine = new WeakMap(); // the errors that were made here, which nobody else can put in (ERR-2)

function hostError(name, message) {
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: name, writable: false, enumerable: false, configurable: false }); // ERR-1
  genuine.set(error, name);
  return error;
}

function answered({ run, outcome, problem }) {
  if (dead) return;
  if (run) return perform(active);
  const { resolve, reject } = active;
  active = null;
  if (problem !== undefined) reject(new TypeError(problem)); // STP-4
  else if (outcome.error !== undefined) reject(hostError(outcome.error, outcome.message));
  else resolve(read(outcome.value)); // the document itself (STP-14, WFE-4)
}

/** Runs an effect, and reports how this attempt went. */
function perform({ name, effect }) {
  const report = (result) => {
    if (!dead) send({ word: "attempted", name, ...result });
  };
  started(() => effect()).then( // without arguments (DO-1)
    (value) => report(resultOf(value)),
    (error) => report({ failure: messageOf(error) }),
  );
}

/** A step's result as text; what is no document is a failed attempt (DO-8). */
function resultOf(value) {
  try {
    return { value: write(value) };
  } catch (error) {
    return { failure: error.message };
  }
}

const started = (code) => {
  try {
    return Promise.resolve(code());
  } catch (error) {
    return Promise.reject(error);
  }
};

// The run

async function main({ probe, className, env, binding, instanceId, params }) {
  const settle = (outcomeOf) => (result) => {
    if (dead) return;
    dead = true; // what outlives the run has no say (STP-17)
    send({ word: "settled", ...(active === null ? outcomeOf(result) : { isUnsettled: true }) }); // STP-6, STP-8
  };
  const event = params === undefined ? { instanceId } : { instanceId, params: read(params) };
  const completed = settle((value) => {
    const { value: output, failure } = resultOf(value); // no wrapper (ABI-3)
    return failure === undefined ? { output } : { reason: "run_threw", message: failure }; // ABI-4
  });
  const threw = settle((error) => {
    const isFailedStep = genuine.get(error) === "step_failed"; // by the object, not by its name (ERR-2, ERR-3)
    return { reason: isFailedStep ? "step_failed" : "run_threw", message: messageOf(error) };
  });
  try {
    const exports = await import(probe);
    const application = new exports[className](binding ? { ...env, PROBE: remoteBinding } : env); // ABI-2
    started(() => application.run(event, step)).then(completed, threw);
  } catch (error) {
    threw(error);
  }
}

// What the application finds in its surroundings

const requests = new Map(); // number -> what waits for the answer
let numbered = 0;

const ask = (message) => {
  const request = Promise.withResolvers();
  numbered += 1;
  requests.set(numbered, request);
  send({ ...message, number: numbered });
  return request.promise;
};

const remoteBinding = bindingOver(async (call, request) => {
  const { value, error } = await ask({ word: "ask", call, request });
  if (error !== undefined) throw new HostError(error.name, error.message);
  return value;
});

/** The Host's `fetch`, so that a request, once made, outlives this thread; a response has what is needed here. */
async function fetch(url, { method = "GET", headers, body } = {}) {
  const { status, text, error } = await ask({ word: "fetch", url: String(url), options: { method, headers, body } });
  if (error !== undefined) throw new TypeError(error);
  return { ok: status >= 200 && status < 300, status, text: async () => text, json: async () => JSON.parse(text) };
}

const timers = new Map(); // number -> callback; they fire when the Host says so

const setTimer = (isLasting) => (callback, _milliseconds, ...given) => {
  numbered += 1;
  timers.set(numbered, { isLasting, fire: () => callback(...given) });
  return numbered;
};

const clearTimer = (number) => void timers.delete(number);

function fireTimers() {
  for (const [number, { isLasting, fire }] of [...timers]) {
    if (!isLasting) timers.delete(number);
    fire();
  }
}

Object.assign(globalThis, {
  fetch,
  setTimeout: setTimer(false),
  setInterval: setTimer(true),
  clearTimeout: clearTimer,
  clearInterval: clearTimer,
});
delete globalThis.setImmediate;

// Turns

const MESSAGES = {
  begin: main,
  answered,
  fetched: ({ number, ...answer }) => requests.get(number).resolve(answer),
  tick: fireTimers,
};

let dealt = 0;

parentPort.on("message", async ({ word, ...message }) => {
  await MESSAGES[word](message); // only the beginning takes more than this turn, and no other message comes before
  setImmediate(() => {
    if (toSend !== null && !dead) send(toSend);
    toSend = null;
    dealt += 1;
    send({ word: "drained", dealt });
  });
});
