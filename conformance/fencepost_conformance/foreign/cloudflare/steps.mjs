/**
 * The Form's steps over those of Cloudflare Workflows.
 *
 * An outcome that the engine keeps is always a value, so that no failure of a step is lost on its way between
 * processes; what the engine itself rejects with ends the run. Each event bears a key, since after a restart the
 * engine hands out again what was consumed before.
 */

import { createHash } from "node:crypto";

import { write } from "../shared/form.mjs";
import { MILLISECONDS, Steps, messageOf } from "../shared/steps.mjs";

const TIMED_OUT = /Execution timed out after \d+ms$/;
const LONG = "365 days";

const KNOWN = /^[^\u0000-\u001f]{1,200}$/; // what the engine takes as a step's name, with room for a few words
const KNOWN_ID = /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,99}$/;

const hashed = (text) => `sha256_${createHash("sha256").update(text).digest("hex")}`;

/** An id, by which the engine knows an instance. */
export const idOf = (text) => (KNOWN_ID.test(text) && !text.startsWith("sha256_") ? text : hashed(text));

/** A type, in whose name the engine keeps events, apart from others by the ends of lines. */
export const typeOf = (text) => JSON.stringify(text);

const nameOf = (text, word) => `${word} ${KNOWN.test(text) ? text : hashed(text)}`;

/** The engine's retries for so many attempts, with `delay(k)` seconds after the failed attempt k. */
export function retries(maxAttempts, delay) {
  const limit = maxAttempts - 1;
  const delays = Array.from({ length: limit }, (_, index) => delay(index + 1) * MILLISECONDS);
  const [first = 0] = delays;
  if (delays.every((each) => each === first)) return { limit, delay: first, backoff: "constant" };
  if (delays.every((each, index) => each === first * 2 ** index)) return { limit, delay: first, backoff: "exponential" };
  return { limit, delay: ({ ctx }) => delays[ctx.attempt - 1], backoff: "constant" };
}

export class CloudflareSteps extends Steps {
  #step;
  #taken = new Set(); // the keys of consumed events

  constructor(step) {
    super();
    this.#step = step;
  }

  /** The engine has a message to keep, and no further word; so the reason is the message's first. */
  ending = (reason, message) => new Error(`${reason}: ${message}`);

  async do(name, { effect, maxAttempts, delay }) {
    const attempt = async ({ attempt: number }) => {
      if (this.isDoomed) return {}; // the engine goes on with a step whose run has ended
      try {
        return { value: write(await effect()) };
      } catch (error) {
        if (number < maxAttempts) throw new Error(`attempt ${number}: ${messageOf(error)}`);
        return { failure: ["step_failed", messageOf(error)] };
      }
    };
    const options = { retries: retries(maxAttempts, delay), timeout: LONG };
    return this.#awaited(this.#step.do(nameOf(name, "do"), options, attempt));
  }

  async sleep(name, { seconds }) {
    await this.#awaited(this.#step.sleep(nameOf(name, "sleep"), seconds * MILLISECONDS));
    return {};
  }

  async wait(name, { type, seconds }) {
    const deadline = await this.#awaited(
      this.#step.do(nameOf(name, "deadline"), async () => Date.now() + seconds * MILLISECONDS),
    );
    for (let number = 1; ; number++) {
      const timeout = Math.max(1, deadline - Date.now());
      const options = { type: typeOf(type), timeout };
      const called = this.#step.waitForEvent(nameOf(name, `wait ${number}`), options);
      const event = await this.#awaited(called.catch((error) => {
        if (TIMED_OUT.test(messageOf(error))) return null;
        throw error;
      }));
      if (event === null) return { failure: ["wait_timeout", `no ${type} within ${seconds} s`] };
      const { key, payload } = event.payload;
      if (this.#taken.has(key)) continue;
      this.#taken.add(key);
      return { value: payload };
    }
  }

  async #awaited(called) {
    try {
      return await called;
    } catch (error) {
      return this.doom(error);
    }
  }
}
