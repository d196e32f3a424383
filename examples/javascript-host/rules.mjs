/**
 * What may happen to one instance: functions over its record, which is plain data and can be stored.
 *
 * Time is given in, as milliseconds. Nothing here runs code of an application or knows of contexts: an owner
 * is a number, the token that it was handed. A function that moves the instance on takes the token away
 * (`owner = null`), and from then on nothing that the old owner reports is committed.
 */

import { LIMITS } from "./limits.mjs";

const SECOND = 1000;

export const newInstance = (id, params, now) => ({
  id,
  params, // a document's text, or undefined
  created: now,
  steps: new Map(), // name -> step
  inbox: [], // accepted and unconsumed events, in the order of their acceptance
  tokens: 0, // how many owners there have been
  owner: null, // the token of the present one
  unproven: new Set(), // tokens of contexts of which nobody knows that they stopped
  parked: null, // the name of the step that the instance stands at without a context
  outcome: null, // how it ends, once that is decided
  ended: null, // when that was published
});

/** The status answer, with the output as text. */
export function statusOf(instance) {
  if (instance.ended !== null) return instance.outcome;
  // Parked is shown only when no context is left that might still run (PUB-1); so is terminal, see `publish`.
  if (instance.parked !== null && instance.unproven.size === 0) return { status: PARKED[parkedStep(instance).kind] };
  return { status: instance.tokens === 0 ? "queued" : "running" };
}

const PARKED = { sleep: "sleeping", wait: "waiting", do: "queued" }; // for a retry any of three (DO-9)

const parkedStep = (instance) => instance.steps.get(instance.parked);

// The end

/** Whether the lifetime is over, be it processed or not (LIF-1, LIF-5). */
export const isOver = (instance, now) => now > instance.created + LIMITS.lifetimeSeconds * SECOND;

/** How the instance ends, unless that was decided before: one outcome, once and for all. */
export function decide(instance, outcome) {
  if (instance.outcome !== null) return;
  instance.outcome = outcome;
  instance.owner = null; // fenced (TRM-1, TRM-4)
  instance.parked = null;
}

export const failed = (reason, message) => ({
  status: "errored",
  error: message === undefined ? { reason } : { reason, message },
});

/** The decided end becomes visible, once no code can run any more (PUB-1, TRM-2). */
export function publish(instance, now) {
  instance.ended = now;
  instance.inbox = []; // EVT-6
}

/** Whether a terminal instance need not be kept any longer (RET-1, RET-2). */
export const isForgettable = (instance, now) =>
  instance.ended !== null && now >= instance.ended + LIMITS.retentionSeconds * SECOND;

// Events

/** Accepts an event: for the wait that the instance is parked on, or into the inbox; false when it is full. */
export function accept(instance, type, payload, now) {
  const step = parkedStep(instance);
  if (step?.kind === "wait" && step.type === type && now <= step.deadline) { // WFE-5, WFE-6, EVT-11
    finish(step, { value: payload }); // handed over: the inbox and its bounds have no part in it (EVT-3, EVT-5)
    instance.parked = null;
    return true;
  }
  const bytes = eventBytes(type, payload);
  const held = instance.inbox.reduce((sum, event) => sum + event.bytes, 0);
  if (instance.inbox.length >= LIMITS.inboxEvents) return false; // EVT-3
  if (held + bytes > LIMITS.inboxBytes) return false; // EVT-3
  instance.inbox.push({ type, payload, at: now, bytes });
  return true;
}

/** The size of a stored event: `{payload?, type}` in canonical UTF-8 (EVT-3). */
const eventBytes = (type, payload) =>
  Buffer.byteLength(`{${payload === undefined ? "" : `"payload":${payload},`}"type":${JSON.stringify(type)}}`);

/** Takes the oldest event that a wait is satisfied by out of the inbox (WFE-2, WFE-8). */
function take(instance, step) {
  const place = instance.inbox.findIndex(({ type, at }) => type === step.type && at <= step.deadline); // WFE-6
  return place < 0 ? undefined : instance.inbox.splice(place, 1)[0];
}

// Steps

const finish = (step, outcome) => { step.outcome = outcome; };

/** The instance stands at this step until time or an event moves it on; its context has to stop. */
function park(instance, step) {
  instance.parked = step.name;
  instance.owner = null;
  return { point: "parked" };
}

/**
 * A step call of the present owner. `problem` says what is wrong with its arguments, `options` what was
 * right. The answer has the `outcome` of the step, or `run` for its effect, or a `problem`; where it has none
 * of these the context stops. `point` is one that a trap may be set at.
 */
export function call(instance, { kind, name, problem, options }, now) {
  const known = instance.steps.get(name);
  if (known?.outcome) return { outcome: known.outcome }; // STP-3, STP-3a
  if (known !== undefined && known.kind !== kind) return mismatch(instance); // STP-6
  if (problem !== undefined) return { problem }; // STP-4; nothing is recorded (STP-4a)
  if (known === undefined && instance.steps.size >= LIMITS.steps) { // STP-9
    decide(instance, failed("step_limit_exceeded"));
    return {};
  }
  const step = known ?? begun(kind, name, options, now); // what was saved first holds (STP-5)
  instance.steps.set(name, step);
  return CALLS[kind](instance, step, now);
}

const begun = (kind, name, { seconds = 0, ...options }, now) => ({
  kind,
  name,
  ...options,
  deadline: now + seconds * SECOND, // of a sleep or wait; fixed by the first call (SLP-1)
  attempts: 0,
  outcome: null,
});

const CALLS = {
  do: (instance, step, now) => (now < step.deadline ? park(instance, step) : { run: true }), // DO-10
  sleep(instance, step, now) {
    if (now < step.deadline) return park(instance, step); // SLP-2
    finish(step, {}); // the deadline has passed, or there were 0 seconds to sleep (SLP-2, SLP-3)
    return { outcome: step.outcome };
  },
  wait(instance, step, now) {
    const event = take(instance, step);
    if (event === undefined && now <= step.deadline) return park(instance, step); // WFE-3
    finish(step, event === undefined ? TIMED_OUT : { value: event.payload }); // one commit with `take` (WFE-2)
    return { outcome: step.outcome, point: event && "consumed" };
  },
};

const TIMED_OUT = Object.freeze({ error: "wait_timeout", message: "no event came in time" });

/** An effect has ended: with the text of a `value` or undefined, or with a `failure` (DO-4). */
export function attempted(instance, { name, failure, value }, now) {
  const step = instance.steps.get(name);
  step.attempts += 1;
  if (failure === undefined) {
    finish(step, { value });
  } else if (step.attempts < step.maxAttempts) {
    step.deadline = now + delaySeconds(step) * SECOND; // DO-10
    if (step.deadline > now) park(instance, step);
    instance.owner = null; // also without delay it goes on in a fresh context (DO-5)
    return { point: "committed" };
  } else {
    finish(step, { error: "step_failed", message: failure }); // DO-7
  }
  return { outcome: step.outcome, point: "committed" };
}

/** Seconds from the failure of the last attempt to the next one (DO-3). */
function delaySeconds({ attempts, initialDelaySeconds, backoff, maxDelaySeconds }) {
  const factor = backoff === "exponential" ? 2 ** (attempts - 1) : 1; // exact for every attempt that can be
  return Math.min(maxDelaySeconds, initialDelaySeconds * factor);
}

/** Steps overlap, one is unsettled as the run settles, or a name changes its kind (STP-6, STP-8). */
export function mismatch(instance) {
  decide(instance, failed("step_definition_mismatch"));
  return {};
}

/** Whether time has moved a parked instance on; a timeout is recorded with it. */
export function wake(instance, now) {
  const step = parkedStep(instance);
  if (step.kind === "wait" ? now <= step.deadline : now < step.deadline) return; // WFE-5, WFE-5a; SLP-2, DO-10
  if (step.kind === "wait") finish(step, TIMED_OUT); // to be rejected in a new context (WFE-5)
  instance.parked = null;
}
