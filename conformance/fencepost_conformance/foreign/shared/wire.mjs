/**
 * The adapter's side of the conformance kit's wire: requests come as JSON lines on standard input, answers
 * leave as JSON lines on standard output, and whatever is said to an engine is a line on standard error.
 */

import { createInterface } from "node:readline";

import { EngineError } from "./form.mjs";

export const PROTOCOL = "fencepost.adapter@1";

const LOGGED = 400; // characters of an answer
const started = performance.now();

/** One line on standard error, with the seconds since the adapter was started. */
export const log = (line) => {
  const at = ((performance.now() - started) / 1000).toFixed(3);
  process.stderr.write(`${at} ${line}\n`);
};

/** A text, cut to what a log line can bear. */
export const shown = (text) => (text.length > LOGGED ? `${text.slice(0, LOGGED)}... (${text.length})` : text);

/** A promise with a deadline; raises the error that `late` gives. */
export const within = (milliseconds, promise, late) => {
  const { promise: over, reject } = Promise.withResolvers();
  const timer = setTimeout(() => reject(late()), milliseconds);
  return Promise.race([promise, over]).finally(() => clearTimeout(timer));
};

/** The caller's calls: op -> the name by which the probe's own Worker knows it. */
const CALLS = { create: "create", get: "get", status: "status", send_event: "sendEvent", terminate: "terminate" };

/** The ops of the caller's calls, each made by `call(name, input)`, and of a call whose answer is lost. */
export const callers = (call) => {
  const ops = Object.entries(CALLS).map(([op, name]) => [op, (input) => call(name, input)]);
  const lost = ({ call: op, arguments: input }) => call(CALLS[op], input).then(() => null, () => null);
  return { ...Object.fromEntries(ops), drop_response: lost };
};

const MAY_WAIT = new Set(["terminate", "drop_response"]); // the next requests need not wait for them
const AT_ONCE = new Set(["handshake", "begin", "end", "restart"]); // they wait for no call, which may hang

async function answered(ops, op, input) {
  try {
    return { ok: (await ops[op](input)) ?? null };
  } catch (error) {
    if (error instanceof EngineError) return { error: { name: error.name, message: error.message } };
    return { fault: `${op}: ${error?.stack ?? error}` };
  }
}

/** Answer requests by `ops` until there are no more; calls are made in the order in which they come. */
export async function serve(ops) {
  const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
  let last = Promise.resolve();
  for await (const line of createInterface({ input: process.stdin })) {
    const { op, ticket, ...input } = JSON.parse(line);
    const before = AT_ONCE.has(op) ? Promise.resolve() : last;
    const done = before.then(() => answered(ops, op, input)).then((answer) => write({ ticket, ...answer }));
    if (!MAY_WAIT.has(op)) last = done;
  }
}
