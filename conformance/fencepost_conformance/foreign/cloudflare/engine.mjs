/**
 * Cloudflare's local engine as this adapter runs it: for each scenario one process of workerd, started by
 * Miniflare on loopback, with storage in a folder of its own.
 *
 * A restart is a SIGKILL of workerd, and a new one on the same storage. Should the adapter be killed, a guard,
 * which is a shell in a session of its own, sees the end of its input, ends workerd and removes the folder.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { EngineError } from "../shared/form.mjs";
import { log, shown, within } from "../shared/wire.mjs";

const COMPATIBILITY_DATE = "2026-07-01";
const START_MILLISECONDS = 60_000;
const CALL_MILLISECONDS = 30_000;

const FOREIGN = resolve(import.meta.dirname, "..");
const MODULES = { // shim -> what its Worker is made of, the entry first
  raw: ["cloudflare/raw.mjs", "cloudflare/worker.mjs"],
  emulated: ["cloudflare/emulated.mjs", "cloudflare/worker.mjs", "cloudflare/steps.mjs", "shared/steps.mjs", "shared/form.mjs"],
};
const WAKES = new Set(["emulated"]); // the shims that wake instances after a restart
const PROBE = "cloudflare/probe.mjs"; // where the Worker's modules find the kit's probe

const GUARD = 'while read -r next; do pid=$next; done; [ -z "$pid" ] || kill -9 "$pid"; rm -rf -- "$1"';

export class Engine {
  #shim;
  #loaded; // Miniflare's module
  #folder = mkdtempSync(join(tmpdir(), "fencepost-cloudflare-"));
  #guard = spawn("/bin/sh", ["-c", GUARD, "guard", this.#folder], { detached: true, stdio: ["pipe", "ignore", 2] });
  #scenario = null;
  #miniflare = null;
  #workerd = null; // its process id

  /** The engine from the packages in a folder; nothing is started. */
  constructor(shim, packages) {
    process.env.TMPDIR = this.#folder; // where Miniflare has files of its own
    const require = createRequire(join(resolve(packages), "package.json"));
    this.#shim = shim;
    this.#loaded = import(pathToFileURL(require.resolve("miniflare")));
    const [miniflare, workerd] = ["miniflare", "workerd"].map((name) => versionOf(require, name));
    this.version = `${miniflare}, workerd ${workerd}`;
  }

  /** Start workerd for a scenario, with nothing stored. */
  async begin(scenario) {
    await this.#stop();
    log(`begin ${scenario.token}`);
    this.#scenario = scenario;
    await this.#start();
  }

  /** Kill workerd, and start it on the same storage. */
  async restart() {
    log("restart: SIGKILL of workerd");
    await this.#stop();
    await this.#start();
    log("restart: it is up again on the same storage");
    if (WAKES.has(this.#shim)) await this.call("wake", {});
  }

  /** Stop it, and remove what it has stored. */
  async end() {
    await this.#stop();
    rmSync(this.#storage(), { recursive: true, force: true });
    this.#scenario = null;
  }

  /** Stop it, and leave nothing behind. */
  async close() {
    await this.end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A call to the probe's Worker; gives its answer, raises EngineError. */
  async call(name, input) {
    const said = `${name}(${shown(JSON.stringify(input))})`;
    try {
      const late = () => new EngineError("backend_unavailable", `no answer within ${CALL_MILLISECONDS / 1000} s`);
      const { ok, error, raw } = await within(CALL_MILLISECONDS, this.#fetch(name, input), late);
      for (const line of raw) log(`  ${shown(line)}`);
      log(`${said} -> ${shown(JSON.stringify(error ?? ok ?? null))}`);
      if (error !== undefined) throw new EngineError(error.name, error.message);
      return ok;
    } catch (error) {
      if (error instanceof EngineError) throw error;
      log(`${said} -> ${error.message}`);
      throw new EngineError("backend_unavailable", error.message);
    }
  }

  async #fetch(name, input) {
    const body = JSON.stringify(input);
    const response = await this.#miniflare.dispatchFetch(`http://caller/${name}`, { method: "POST", body });
    return response.json();
  }

  /** The engine's own API over what it holds, as the local explorer shows it. */
  async #explorer(request) {
    const { Response } = await this.#loaded;
    const { pathname, search } = new URL(request.url);
    const response = await this.#miniflare.dispatchFetch(`http://localhost/cdn-cgi/explorer/api${pathname}${search}`);
    const text = await response.text();
    log(`  explorer: GET ${pathname}${search} -> ${shown(text)}`);
    return new Response(text);
  }

  async #start() {
    const { deployed, journal, probe } = this.#scenario;
    const [[version]] = Object.entries(deployed).sort(([, one], [, other]) => other - one);
    const [entry, ...others] = MODULES[this.#shim].map((path) => module(path, join(FOREIGN, path)));
    const { Miniflare } = await this.#loaded;
    this.#miniflare = new Miniflare({
      host: "127.0.0.1",
      port: 0,
      cf: false,
      modules: [entry, ...others, module(PROBE, probe.path)],
      modulesRoot: "/",
      compatibilityDate: COMPATIBILITY_DATE,
      compatibilityFlags: ["nodejs_compat"],
      bindings: { VERSION: version, JOURNAL: journal },
      workflows: { WORKFLOW: { name: "probe", className: "Application" } },
      workflowsPersist: this.#storage(),
      unsafeLocalExplorer: true,
      telemetry: { enabled: false },
      serviceBindings: { EXPLORER: (request) => this.#explorer(request) },
      handleStructuredLogs: ({ level, message }) => log(`  workerd ${level}: ${shown(message)}`),
    });
    const late = () => new Error(`workerd was not up within ${START_MILLISECONDS / 1000} s`);
    await within(START_MILLISECONDS, this.#miniflare.ready, late);
    this.#workerd = child("workerd");
    this.#guard.stdin.write(`${this.#workerd ?? ""}\n`);
  }

  async #stop() {
    const [miniflare, pid] = [this.#miniflare, this.#workerd];
    this.#miniflare = this.#workerd = null;
    if (pid !== null) process.kill(pid, "SIGKILL");
    await miniflare?.dispose();
    this.#guard.stdin.write("\n");
  }

  #storage() {
    return join(this.#folder, this.#scenario?.token ?? "none");
  }
}

const module = (path, file) => ({ type: "ESModule", path: `/${path}`, contents: readFileSync(file, "utf8") });

function versionOf(require, name) {
  for (const folder of require.resolve.paths(name)) {
    try {
      return JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")).version;
    } catch {
      // in another one
    }
  }
  return "unknown";
}

/** The process id of our child of this name, or null where the system does not tell. */
function child(name) {
  if (!existsSync("/proc")) return null;
  for (const pid of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    try {
      const [, called, parent] = /\((.*)\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"));
      if (Number(parent) === process.pid && called === name) return Number(pid);
    } catch {
      // it has ended
    }
  }
  return null;
}
