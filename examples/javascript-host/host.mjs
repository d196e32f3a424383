/**
 * A Host of DurableWorkflow in memory, on the wire of the conformance kit: requests come as JSON lines on
 * standard input, answers leave as JSON lines on standard output.
 *
 * The caller's calls go through the probe's own Worker, the default export of its module, so that their
 * arguments are real JavaScript values when they reach the binding.
 */

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { load } from "./load.mjs";

const { Engine, LEASE_SECONDS } = await load("./engine.mjs");
const { HostError, bindingOver } = await load("./binding.mjs");

console.log = console.error; // standard output is the wire

const INSTRUMENTS = [
  "clock", "journal", "kill", "pause", "stuck", "restart", "wakes", "responses", "versions", "binding",
];

let world = null;
let engine = null;

function handshake() {
  const host = { name: "javascript-host", version: "1.0.0" };
  return { protocol: "fencepost.adapter@1", host, instruments: INSTRUMENTS, leaseSeconds: LEASE_SECONDS };
}

async function begin({ deployed, uses, journal, probe }) {
  const module = pathToFileURL(probe.path).href;
  world = {
    now: 0, // milliseconds
    weights: deployed,
    isHoldingWakes: false,
    stuck: new Set(), // ids of instances whose contexts cannot be stopped
    traps: [],
    survivors: [], // owners that a hard stop did not reach
    caller: (await import(module)).default,
    /** What a context on this Version loads, and the environment that it declares. */
    application: (version) => ({
      probe: module,
      className: "Probe",
      env: { VERSION: version, JOURNAL: journal },
      binding: uses.includes("binding"),
    }),
  };
  engine = new Engine(world);
}

async function end() {
  world.stuck.clear();
  await engine.halt();
  return { unsprung: world.traps.map(({ deed, id, at }) => `${deed} ${id} at ${at}`) };
}

async function restart() {
  await engine.halt();
  engine = new Engine(world, structuredClone(engine.store));
}

/** A caller's call, made from the caller's Worker; `underway` is called when it has to wait. */
async function call(name, input, underway) {
  const binding = bindingOver(async (what, request) => {
    const answer = engine.answerTo(what, request);
    if (what === "terminate") underway();
    const { value, error } = await answer;
    if (error !== undefined) throw new HostError(error.name, error.message);
    return value;
  });
  const request = new Request(`http://caller/${name}`, { method: "POST", body: JSON.stringify(input) });
  const response = await world.caller.fetch(request, { PROBE: binding });
  const { ok, error } = await response.json();
  if (error !== undefined) throw new HostError(error.name, error.message);
  return ok;
}

const CALLS = { create: "create", get: "get", status: "status", send_event: "sendEvent", terminate: "terminate" };

const OPS = {
  handshake,
  begin,
  end,
  restart,
  advance: ({ milliseconds }) => void (world.now += milliseconds),
  settle: () => engine.settle(),
  kill: ({ id, at }) => engine.kill(id, at),
  pause: ({ id, at }) => engine.pause(id, at),
  resume: ({ id }) => engine.resume(id),
  stuck: ({ id }) => void world.stuck.add(id),
  unstuck: ({ id }) => void world.stuck.delete(id),
  hold_wakes: ({ on }) => void (world.isHoldingWakes = on),
  deploy: ({ weights }) => void (world.weights = weights),
  drop_response: ({ call: op, arguments: input }) =>
    new Promise((resolve) => call(CALLS[op], input, resolve).then(() => resolve(), () => resolve())),
};

for (const [op, name] of Object.entries(CALLS)) OPS[op] = (input, underway) => call(name, input, underway);

async function answer(op, input, underway) {
  try {
    return { ok: (await OPS[op](input, underway)) ?? null };
  } catch (error) {
    if (error instanceof HostError) return { error: { name: error.name, message: error.message } };
    return { fault: `${op}: ${error?.stack ?? error}` };
  }
}

const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

// One request after the other; only a call that has to wait for something lets the next ones begin.
for await (const line of createInterface({ input: process.stdin })) {
  const { op, ticket, ...input } = JSON.parse(line);
  const { promise: isUnderway, resolve: underway } = Promise.withResolvers();
  const isAnswered = answer(op, input, underway).then((given) => write({ ticket, ...given }));
  await Promise.race([isAnswered, isUnderway]);
}
process.exit(0);
