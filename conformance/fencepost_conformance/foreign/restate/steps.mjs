/**
 * The Form's steps over Restate's operations, which Restate knows by their position in the journal.
 *
 * Each attempt of an effect is a run block of its own, whose outcome is always a value, so that it is on record
 * before the next attempt begins. An event is taken from the instance's inbox, or sent to an awakeable.
 */

import { write } from "../shared/form.mjs";
import { MILLISECONDS, Steps, messageOf } from "../shared/steps.mjs";
import { inbox } from "./inbox.mjs";

export class RestateSteps extends Steps {
  #restate;
  #ctx;
  #token;

  constructor(restate, ctx, token) {
    super();
    this.#restate = restate;
    this.#ctx = ctx;
    this.#token = token;
  }

  /** Restate keeps the reason with the error that ends an invocation. */
  ending = (reason, message) => new this.#restate.TerminalError(message, { errorCode: 500, metadata: { reason } });

  /** End the run as terminated. */
  stop() {
    return this.condemn("terminated", "terminated");
  }

  async do(name, { effect, maxAttempts, delay }) {
    for (let attempt = 1; ; attempt++) {
      let isHere = false; // whether the effect ran in this context
      const block = async () => {
        isHere = true;
        try {
          return { value: write(await effect()) };
        } catch (error) {
          return { failure: messageOf(error) };
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

  /** What an operation of Restate comes to; a cancellation ends the run, and reaches none of its code. */
  async #awaited(operation) {
    try {
      return await operation;
    } catch (error) {
      if (error instanceof this.#restate.CancelledError) return this.stop();
      throw error;
    }
  }

  /** Go on in a fresh context: Restate repeats an attempt that ends with such an error. */
  #afresh() {
    return this.doom(new this.#restate.RetryableError("the next attempt of a step", { retryAfter: 0 }));
  }
}
