/**
 * The inbox of an instance, as a virtual object of Restate: its handlers run one at a time for each key, and
 * what they store is committed with what they send. It knows the wait that stands, if there is one.
 *
 * A durable promise is resolved once, and by whoever comes first; a queue takes a virtual object.
 */

import { LIMITS, eventBytes } from "../shared/form.mjs";

/** The name of the virtual object of a scenario. */
export const inbox = (token) => `Inbox_${token}`;

/** An event is `{type, payload?}`, a wait `{type, deadline, awakeable}`, with `payload` as canonical text. */
export const inboxObject = (restate, token, options) =>
  restate.object({
    name: inbox(token),
    options,
    handlers: {
      /** Accept an event: for the wait that stands, or into the queue. */
      accept: async (ctx, event) => {
        const wait = await ctx.get("wait");
        if (wait?.type === event.type && (await ctx.date.now()) <= wait.deadline) {
          ctx.clear("wait");
          ctx.resolveAwakeable(wait.awakeable, event);
          return;
        }
        const queue = (await ctx.get("queue")) ?? [];
        const bytes = [...queue, event].reduce((sum, each) => sum + eventBytes(each), 0);
        if (queue.length >= LIMITS.inboxEvents || bytes > LIMITS.inboxBytes)
          throw new restate.TerminalError("event_queue_full", { errorCode: 409 });
        ctx.set("queue", [...queue, event]);
      },

      /** The oldest event that satisfies a wait, or else the wait stands from now on. */
      take: async (ctx, wait) => {
        const queue = (await ctx.get("queue")) ?? [];
        const place = queue.findIndex(({ type }) => type === wait.type);
        if (place < 0) {
          ctx.set("wait", wait);
          return {};
        }
        const [event] = queue.splice(place, 1);
        ctx.set("queue", queue);
        return { event };
      },

      /** The wait stands no longer; false when an event was handed to it before. */
      leave: async (ctx, { awakeable }) => {
        const wait = await ctx.get("wait");
        if (wait?.awakeable !== awakeable) return false;
        ctx.clear("wait");
        return true;
      },
    },
  });
