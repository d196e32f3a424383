/**
 * The three operations by name, for one context, over Restate's operations, which are known by their position.
 *
 * Each context goes through its journal again, so that what a finished name came to is known from what was
 * called before. `doom` is what no code of the application survives; what is awaited then is never settled.
 */

import { CONFIGURATION, LIMITS, checkText, read, write } from "./form.mjs";
import { inbox } from "./inbox.mjs";

const MILLISECONDS = 1000;
const never = new Promise(() => {});

/** An Error of the Host: an own, read-only `name`. */
function hostError(name, message) {
  const fixed = { value: name, writable: false, enumerable: false, configurable: false };
  return Object.defineProperty(new Error(message), "name", fixed);
}

export class Steps {
  #restate;
  #ctx;
  #token;
  #finished = new Map(); // name -> {value} (a text or undefined) or {failure} ([name, message])
  #genuine = new WeakSet();
  #doomed = Promise.withResolvers();
  active = null;

  constructor(restate, ctx, token) {
    this.#restate = restate;
    this.#ctx = ctx;
    this.#token = token;
  }

  /** Rejects when the run is to end without asking its code. */
  get doom() {
    return this.#doomed.promise;
  }

  /** The reason of what a run threw. */
  reason = (error) => (typeof error === "object" && error !== null && this.#genuine.has(error) ? "step_failed" : "run_threw");

  /** What the probe is handed. */
  get surface() {
    return {
      do: (name, ...given) => this.#call("do", name, given),
      sleep: (name, ...given) => this.#call("sleep", name, given),
      waitForEvent: (name, ...given) => this.#call("wait", name, given),
    };
  }

  /** End the run with a reason. */
  condemn(reason, message) {
    this.#doomed.reject(failure(this.#restate, reason, message));
    return never;
  }

  async #call(kind, name, given) {
    checkText(name, "the name");
    if (this.#finished.has(name)) return this.#outcome(name);
    const fixed = CONFIGURATION[kind](...given);
    if (this.active !== null) return this.condemn("step_definition_mismatch", `${name} overlaps ${this.active}`);
    if (this.#finished.size === LIMITS.steps) return this.condemn("step_limit_exceeded", name);
    this.active = name;
    this.#finished.set(name, await this[kind](name, fixed));
    this.active = null;
    return this.#outcome(name);
  }

  #outcome(name) {
    const { value, failure } = this.#finished.get(name);
    if (failure === undefined) return read(value);
    const error = hostError(...failure);
    if (error.name === "step_failed") this.#genuine.add(error);
    throw error;
  }

  /** An operation of Restate; a cancellation ends the run, and reaches none of its code. */
  async #awaited(operation) {
    try {
      return await operation;
    } catch (error) {
      if (error instanceof this.#restate.CancelledError) return this.condemn("terminated", "terminated");
      throw error;
    }
  }

  /** Each attempt is a run block of its own, so that its outcome is on record before the next one begins. */
  async do(name, { effect, maxAttempts, delay }) {
    for (let attempt = 1; ; attempt++) {
      let isHere = false; // whether the effect ran in this context
      const block = async () => {
        isHere = true;
        try {
          return { value: write(await effect()) };
        } catch (error) {
          return { failure: String(error?.message ?? error) };
        }
      };
      const outcome = await this.#awaited(this.#ctx.run(name, block));
      if (outcome.failure === undefined) return outcome;
      if (attempt === maxAttempts) return { failure: ["step_failed", outcome.failure] };
      const seconds = delay(attempt);
      if (seconds > 0) await this.#awaited(this.#ctx.sleep(seconds * MILLISECONDS, `retry ${name}`));
      else if (isHere) await this.#afresh();
    }
  }

  async sleep(name, { seconds }) {
    if (seconds > 0) await this.#awaited(this.#ctx.sleep(seconds * MILLISECONDS, `sleep ${name}`));
    return {};
  }

  async wait(name, { type, seconds }) {
    const called = await this.#awaited(this.#ctx.date.now());
    const deadline = called + seconds * MILLISECONDS;
    const { id: awakeable, promise } = this.#ctx.awakeable();
    const { event: kept } = await this.#ask("take", { type, deadline, awakeable });
    if (kept !== undefined) return { value: kept.payload };
    try {
      return { value: (await this.#awaited(promise.orTimeout(seconds * MILLISECONDS + 1))).payload };
    } catch (error) {
      if (!(error instanceof this.#restate.TimeoutError)) throw error;
    }
    const isAlone = await this.#ask("leave", { awakeable });
    if (!isAlone) return { value: (await this.#awaited(promise)).payload };
    return { failure: ["wait_timeout", `no ${type} within ${seconds} s`] };
  }

  #ask(method, parameter) {
    const { json } = this.#restate.serde;
    const call = { service: inbox(this.#token), key: this.#ctx.key, method, parameter };
    return this.#awaited(this.#ctx.genericCall({ ...call, inputSerde: json, outputSerde: json }));
  }

  /** Go on in a fresh context: Restate repeats an attempt that ends with an error. */
  #afresh() {
    this.#doomed.reject(new this.#restate.RetryableError("the next attempt of a step", { retryAfter: 0 }));
    return never;
  }
}

/** The end of a run for a reason, which Restate keeps with it. */
export const failure = (restate, reason, message) =>
  new restate.TerminalError(message, { errorCode: 500, metadata: { reason } });
