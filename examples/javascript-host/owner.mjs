/**
 * An owner: the Host's end of one context, which is a worker thread of its own.
 *
 * A thread gives all that the Form asks of a context: modules evaluated afresh, no object in common with the
 * one before, and a stop that needs no cooperation of the code, and is proven when `terminate` resolves.
 */

import { Worker } from "node:worker_threads";

const COMPUTING_MICROSECONDS = 1_000_000; // of processor time without a word: it computes, and counts as quiet
const OPTIONS = { stdout: true, env: {}, argv: process.argv.slice(2) };

/** A thread that has run nothing yet. */
function freshThread() {
  const thread = new Worker(new URL("thread.mjs", import.meta.url), OPTIONS);
  thread.stdout.on("data", (text) => process.stderr.write(text)); // standard output is the wire
  return thread;
}

export class Owner {
  /** Starts a context; `notify` is called whenever there is something new. */
  constructor(instance, token, beginning, notify) {
    Object.assign(this, { instance, token, notify });
    this.inbox = []; // messages of the context, not handled yet
    this.outbox = []; // messages to a frozen context
    this.isGone = false;
    this.isFrozen = false;
    this.lapses = Infinity; // when the lease of a frozen owner ends
    this.stop = null; // the Promise of its stop, once begun
    this.posted = 0;
    this.drained = 0; // how many messages the context has dealt with, to the end of the turn
    this.used = null; // microseconds of processor time at the last look
    this.isComputing = false;
    this.thread = freshThread();
    this.thread.on("message", (message) => {
      this.isComputing = false;
      this.used = null;
      this.inbox.push(message);
      notify();
    });
    this.thread.on("error", (error) => console.error(`the context of ${instance.id} broke down:`, error));
    this.thread.on("exit", () => {
      this.isGone = true;
      notify();
    });
    this.post(beginning);
  }

  /** Whether only time or input could change anything: all is dealt with, it is frozen, or it computes. */
  get isQuiet() {
    const hasDealt = this.drained === this.posted && this.inbox.length === 0;
    return this.stop === null && (this.isFrozen || this.isComputing || hasDealt);
  }

  /** Whether its token may be given to another: it is gone, or was not heard of for the time of a lease. */
  isLost(now) {
    return this.isGone || now >= this.lapses;
  }

  post(message) {
    if (this.isFrozen) {
      this.outbox.push(message);
    } else {
      this.posted += 1;
      this.thread.postMessage(message);
    }
  }

  /** Holds back what it says and what it is told, until `lapses` at the latest for the sake of its token. */
  freeze(lapses) {
    this.isFrozen = true;
    this.lapses = lapses;
  }

  /** Lets a frozen context have what was held back. */
  thaw() {
    this.isFrozen = false;
    this.lapses = Infinity;
    this.outbox.splice(0).forEach((message) => this.post(message));
  }

  /** Looks whether a silent context computes on and on. */
  async measure() {
    const usage = await this.thread.cpuUsage().catch(() => null); // null: it has not begun, or has just ended
    if (usage === null) return;
    this.used ??= usage.user + usage.system;
    this.isComputing = usage.user + usage.system - this.used > COMPUTING_MICROSECONDS;
  }
}
