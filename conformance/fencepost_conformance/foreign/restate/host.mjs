/**
 * The adapter of Restate, a server and an endpoint, on the wire of the conformance kit.
 *
 *     node host.mjs --shim raw|emulated --packages FOLDER
 *
 * FOLDER is where the packages of `package.json` are installed. The caller's calls go through the probe's own
 * Worker, so that their arguments are real JavaScript values when they reach the shim.
 */

import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { EngineError } from "../shared/form.mjs";
import { PROTOCOL, callers, log, serve } from "../shared/wire.mjs";
import { Calls } from "./calls.mjs";
import { Engine } from "./engine.mjs";

const INSTRUMENTS = ["journal", "restart", "responses", "backend"];
const LEASE_SECONDS = 5; // a lost attempt is tried again after a second or less, once its process is back

const { values: options } = parseArgs({
  options: { shim: { type: "string", default: "emulated" }, packages: { type: "string" } },
});
const { binding } = await import(`./${options.shim}.mjs`);

let engine = null;
let scenario = null;
let caller = null; // the probe's own Worker
let way = null; // the caller's to the server

async function begin({ token, deployed, journal, probe }) {
  log(`begin ${token}`);
  const [[version]] = Object.entries(deployed).sort(([, one], [, other]) => other - one);
  scenario = { token: token.replace(/\W/g, "_"), version, journal, probe: pathToFileURL(probe.path).href };
  caller = (await import(scenario.probe)).default;
  way = new Calls(engine.calls.folder);
  await engine.begin(scenario);
}

/** The caller's call, made from the caller's Worker. */
async function call(name, input) {
  const request = new Request(`http://caller/${name}`, { method: "POST", body: JSON.stringify(input) });
  const response = await caller.fetch(request, { PROBE: binding(way, scenario.token) });
  const { ok, error } = await response.json();
  if (error !== undefined) throw new EngineError(error.name, error.message);
  return ok;
}

await serve({
  handshake: async () => {
    engine ??= await Engine.started(options.shim, options.packages);
    const host = { name: `Restate (${options.shim})`, version: engine.version };
    return { protocol: PROTOCOL, host, instruments: INSTRUMENTS, leaseSeconds: LEASE_SECONDS };
  },
  begin,
  end: () => engine.end(scenario),
  restart: () => engine.restart(),
  backend: ({ up }) => void (way.isCut = !up),
  ...callers(call),
});
engine?.close();
process.exit(0);
