/**
 * The adapter of Restate, on the wire of the conformance kit: requests come as JSON lines on standard input,
 * answers leave as JSON lines on standard output, and what is said to Restate is logged on standard error.
 *
 *     node host.mjs --shim raw|emulated --packages FOLDER
 *
 * FOLDER is where the packages of `package.json` are installed. The caller's calls go through the probe's own
 * Worker, so that their arguments are real JavaScript values when they reach the shim.
 */

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { Engine } from "./engine.mjs";
import { EngineError, log } from "./calls.mjs";

const INSTRUMENTS = ["journal", "restart", "responses"];
const LEASE_SECONDS = 5; // a lost attempt is tried again after a second or less, once its process is back

const { values: options } = parseArgs({
  options: { shim: { type: "string", default: "emulated" }, packages: { type: "string" } },
});
const { binding } = await import(`./${options.shim}.mjs`);

let engine = null;
let scenario = null;
let caller = null;

async function handshake() {
  engine ??= await Engine.started(options.shim, options.packages);
  const host = { name: `Restate (${options.shim})`, version: engine.version };
  return { protocol: "fencepost.adapter@1", host, instruments: INSTRUMENTS, leaseSeconds: LEASE_SECONDS };
}

async function begin({ token, deployed, journal, probe }) {
  log(`begin ${token}`);
  const [[version]] = Object.entries(deployed).sort(([, one], [, other]) => other - one);
  scenario = { token: token.replace(/\W/g, "_"), version, journal, probe: pathToFileURL(probe.path).href };
  caller = (await import(scenario.probe)).default;
  await engine.begin(scenario);
}

/** The caller's call, made from the caller's Worker. */
async function call(name, input) {
  const request = new Request(`http://caller/${name}`, { method: "POST", body: JSON.stringify(input) });
  const response = await caller.fetch(request, { PROBE: binding(engine.calls, scenario.token) });
  const { ok, error } = await response.json();
  if (error !== undefined) throw new EngineError(error.name, error.message);
  return ok;
}

const CALLS = { create: "create", get: "get", status: "status", send_event: "sendEvent", terminate: "terminate" };

const OPS = {
  handshake,
  begin,
  end: () => engine.end(scenario),
  restart: () => engine.restart(),
  drop_response: ({ call: op, arguments: input }) => call(CALLS[op], input).then(() => null, () => null),
};

for (const [op, name] of Object.entries(CALLS)) OPS[op] = (input) => call(name, input);

async function answer(op, input) {
  try {
    return { ok: (await OPS[op](input)) ?? null };
  } catch (error) {
    if (error instanceof EngineError) return { error: { name: error.name, message: error.message } };
    return { fault: `${op}: ${error?.stack ?? error}` };
  }
}

const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const MAY_WAIT = new Set(["terminate", "drop_response"]); // the next requests need not wait for them

let last = Promise.resolve();
for await (const line of createInterface({ input: process.stdin })) {
  const { op, ticket, ...input } = JSON.parse(line);
  const begun = last.then(() => answer(op, input));
  const answered = begun.then((given) => write({ ticket, ...given }));
  last = MAY_WAIT.has(op) ? last : answered;
}
engine?.close();
process.exit(0);
