/**
 * What a context leaves running, and its end. Restate ends an attempt by leaving its promises unsettled;
 * timers and requests of the code float on. Here they are the attempt's own: when it is over, no timer of it
 * fires any more, and it can send no more requests. Those that have left go their way.
 */

import { AsyncLocalStorage } from "node:async_hooks";

const attempts = new AsyncLocalStorage();
const { setTimeout, clearTimeout, fetch } = globalThis;

class Attempt {
  #timers = new Set();
  isOver = false;

  keep(timer) {
    if (this.isOver) clearTimeout(timer);
    else this.#timers.add(timer);
  }

  end() {
    this.isOver = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

globalThis.setTimeout = (...given) => {
  const timer = setTimeout(...given);
  attempts.getStore()?.keep(timer);
  return timer;
};

globalThis.fetch = (...given) => (attempts.getStore()?.isOver ? new Promise(() => {}) : fetch(...given));

/** A hook of the SDK: each attempt of a handler is one. It ends before the server is told how it ended. */
export const attempt = ({ request }) => ({
  interceptor: {
    handler: async (next) => {
      const present = new Attempt();
      request.attemptCompletedSignal.addEventListener("abort", () => present.end(), { once: true });
      try {
        await attempts.run(present, next);
      } finally {
        present.end();
      }
    },
  },
});
