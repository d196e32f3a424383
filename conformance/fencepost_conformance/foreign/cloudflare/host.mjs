/**
 * The adapter of Cloudflare Workflows on its local engine, Miniflare, on the wire of the conformance kit.
 *
 *     node host.mjs --shim raw|emulated --packages FOLDER
 *
 * FOLDER is where the packages of `package.json` are installed. The caller's calls are made from inside, by
 * the probe's own Worker.
 */

import { parseArgs } from "node:util";

import { PROTOCOL, callers, serve } from "../shared/wire.mjs";
import { Engine } from "./engine.mjs";

const INSTRUMENTS = ["journal", "restart", "responses", "binding"];
const LEASE_SECONDS = 1; // there is no lease: what a stopped process ran is taken up by the next call

const { values: options } = parseArgs({
  options: { shim: { type: "string", default: "emulated" }, packages: { type: "string" } },
});

const engine = new Engine(options.shim, options.packages);

await serve({
  handshake: () => {
    const host = { name: `Cloudflare Workflows on Miniflare (${options.shim})`, version: engine.version };
    return { protocol: PROTOCOL, host, instruments: INSTRUMENTS, leaseSeconds: LEASE_SECONDS };
  },
  begin: (scenario) => engine.begin(scenario),
  end: () => engine.end(),
  restart: () => engine.restart(),
  ...callers((name, input) => engine.call(name, input)),
});
await engine.close();
process.exit(0);
