/**
 * The three operations by name, for one context, over an engine that has its own way to know a step again.
 *
 * Each context goes through the record of its run again, so that what a finished name came to is known from
 * what was called before. `doom` is what no code of the application survives; what is awaited then is never
 * settled. An engine's class gives `do`, `sleep` and `wait`, which perform a step that is not finished, and
 * `ending`, the error by which a run ends for a reason.
 */

import { CONFIGURATION, LIMITS, checkText, read, write } from "./form.mjs";

export const MILLISECONDS = 1000;
const never = new Promise(() => {});

/** An Error of the Host: an own, read-only `name`. */
function hostError(name, message) {
  const fixed = { value: name, writable: false, enumerable: false, configurable: false };
  return Object.defineProperty(new Error(message), "name", fixed);
}

export const messageOf = (error) => String(error?.message ?? error);

export class Steps {
  #finished = new Map(); // name -> {value} (a text or undefined) or {failure} ([name, message])
  #genuine = new WeakSet();
  #doomed = Promise.withResolvers();
  #isDoomed = false;
  #active = null;

  /** What the probe is handed. */
  get #surface() {
    return {
      do: (name, ...given) => this.#call("do", name, given),
      sleep: (name, ...given) => this.#call("sleep", name, given),
      waitForEvent: (name, ...given) => this.#call("wait", name, given),
    };
  }

  /** What a run comes to, as text; `construct` makes the object whose `run` it is. Raises what `ending` gives. */
  async outcome(construct, event) {
    const begun = async () => {
      try {
        return write(await construct().run(event, this.#surface));
      } catch (error) {
        throw this.ending(this.#reason(error), messageOf(error));
      }
    };
    const settled = begun().then(
      (text) => () => text,
      (error) => () => {
        throw error;
      },
    );
    const conclude = await Promise.race([this.#doomed.promise, settled]);
    if (this.#active === null) return conclude();
    return Promise.race([this.#doomed.promise, this.condemn("step_definition_mismatch", `${this.#active} is not settled`)]);
  }

  /** Whether the run has ended for a reason: no code of it goes on. */
  get isDoomed() {
    return this.#isDoomed;
  }

  /** End the run for a reason. */
  condemn(reason, message) {
    return this.doom(this.ending(reason, message));
  }

  /** End the run with an error. */
  doom(error) {
    this.#isDoomed = true;
    this.#doomed.reject(error);
    return never;
  }

  #reason(error) {
    const isGenuine = typeof error === "object" && error !== null && this.#genuine.has(error);
    return isGenuine ? "step_failed" : "run_threw";
  }

  async #call(kind, name, given) {
    if (this.#isDoomed) return never;
    checkText(name, "the name");
    if (this.#finished.has(name)) return this.#told(name);
    const fixed = CONFIGURATION[kind](...given);
    if (this.#active !== null) return this.condemn("step_definition_mismatch", `${name} overlaps ${this.#active}`);
    if (this.#finished.size === LIMITS.steps) return this.condemn("step_limit_exceeded", name);
    this.#active = name;
    const outcome = await this[kind](name, fixed);
    if (this.#isDoomed) return never;
    this.#finished.set(name, outcome);
    this.#active = null;
    return this.#told(name);
  }

  #told(name) {
    const { value, failure } = this.#finished.get(name);
    if (failure === undefined) return read(value);
    const error = hostError(...failure);
    if (error.name === "step_failed") this.#genuine.add(error);
    throw error;
  }
}
