/**
 * Restate as this adapter runs it: a server with its storage in a temporary folder, and an endpoint, the
 * process that has the SDK and runs workflow code. Each scenario is a deployment of its own, whose services
 * bear its token, so that one server serves many scenarios.
 *
 * A restart is a SIGKILL of both, which are then started again on the same storage. Should the adapter be
 * killed, a shell of its own sees the end of its input, ends them, and removes the storage.
 */

import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { EngineError } from "../shared/form.mjs";
import { log, within } from "../shared/wire.mjs";
import { Calls, quoted } from "./calls.mjs";

const START_MILLISECONDS = 30_000;
const ANSWER_MILLISECONDS = 5000; // of an endpoint whose code does not compute for ever
const PAUSE_MILLISECONDS = 20;
const NODE = "fencepost";

// It speaks on Unix sockets alone, with one partition and little memory, and reports to nobody.
const CONFIGURATION = `
node-name = "${NODE}"
cluster-name = "fencepost"
listen-mode = "unix"
default-num-partitions = 1
disable-telemetry = true
log-filter = "warn"
log-disable-ansi-codes = true
rocksdb-total-memory-size = "256 MiB"

[admin]
disable-web-ui = true
`;

// Each line says which processes there are now; what was said last is ended.
const WATCH = `
while read -r line; do pids=$line; done
kill -9 $pids
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const inTime = (milliseconds, promise, what) =>
  within(milliseconds, promise, () => new Error(`${what}: not within ${milliseconds / 1000} s`));

async function killed(child) {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

export class Engine {
  #shim;
  #packages;
  #folder = mkdtempSync(join(tmpdir(), "fencepost-restate-"));
  #watch = spawn("sh", ["-c", WATCH, "watch", this.#folder], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  #server = null;
  #endpoint = null;
  #ports = [];
  #scenario = null;

  constructor(shim, packages) {
    this.#shim = shim;
    this.#packages = createRequire(join(packages, "package.json"));
    this.version = this.#packages("@restatedev/restate-server/package.json").version;
    this.calls = new Calls(join(this.#folder, "data", NODE));
    writeFileSync(join(this.#folder, "restate.toml"), CONFIGURATION);
  }

  /** One that is up. */
  static async started(shim, packages) {
    const engine = new Engine(shim, packages);
    await engine.#start();
    return engine;
  }

  /** A deployment of the shim's services under the token of a scenario. */
  async begin(scenario) {
    this.#scenario = scenario;
    try {
      await this.#tell(scenario);
    } catch (error) {
      log(`endpoint: ${error.message}; it is killed`);
      await killed(this.#endpoint);
      await this.#startEndpoint();
    }
    scenario.deployments = [];
    for (const port of this.#ports) {
      const uri = `http://127.0.0.1:${port}/${scenario.token}`;
      const { status, body } = await this.calls.admin("POST", "/deployments", JSON.stringify({ uri }));
      if (status >= 300) throw new Error(`the deployment is not accepted: ${body}`);
      scenario.deployments.push(JSON.parse(body).id);
    }
  }

  /** Kill whatever of the scenario still runs, and forget all of it. */
  async end(scenario) {
    this.#scenario = null;
    const ofScenario = `FROM sys_invocation_status WHERE target_service_name LIKE ${quoted(`%${scenario.token}`)}`;
    const tell = (verb) => ({ id }) => this.calls.admin("PATCH", `/invocations/${id}/${verb}`);
    const live = await this.calls.query(`SELECT id ${ofScenario} AND status <> 'completed'`);
    await Promise.all(live.map(tell("kill")));
    await Promise.all((await this.calls.query(`SELECT id ${ofScenario}`)).map(tell("purge")));
    for (const id of scenario.deployments) await this.calls.admin("DELETE", `/deployments/${id}?force=true`);
  }

  /** SIGKILL of server and endpoint, and both again on the same storage. */
  async restart() {
    log("restart: SIGKILL of the server and of the endpoint");
    await Promise.all([killed(this.#server), killed(this.#endpoint)]);
    await this.#start();
    log("restart: both are up again");
  }

  /** End both, and remove the storage: as if this process had been killed. */
  close() {
    this.#watch.stdin.end();
  }

  async #start() {
    const binary = `@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`;
    const options = ["--no-logo", "--config-file", "restate.toml", "--base-dir", join(this.#folder, "data")];
    this.#server = spawn(this.#packages.resolve(binary), options, {
      cwd: this.#folder,
      env: { ...process.env, DO_NOT_TRACK: "1" },
      stdio: ["ignore", 2, 2],
    });
    await Promise.all([this.#startEndpoint(), inTime(START_MILLISECONDS, this.#serverIsUp(), "start of the server")]);
  }

  /** Up means that a query, which needs the partition's leader, is answered. */
  async #serverIsUp() {
    for (;;) {
      if (this.#server.exitCode !== null) throw new Error(`the server ended with ${this.#server.exitCode}`);
      try {
        await this.calls.query("SELECT 1 FROM sys_invocation LIMIT 1");
        const { status } = await this.calls.ingress("GET", "/restate/health");
        if (status === 200) return;
      } catch (error) {
        if (!(error instanceof EngineError)) throw error;
      }
      await pause(PAUSE_MILLISECONDS);
    }
  }

  async #startEndpoint() {
    const program = fileURLToPath(import.meta.resolve("./endpoint.mjs"));
    const sdk = this.#packages.resolve("@restatedev/restate-sdk");
    this.#endpoint = fork(program, [this.#shim, sdk, ...this.#ports.map(String)], {
      stdio: ["ignore", 2, 2, "ipc"],
      env: { ...process.env, RESTATE_LOGGING: "ERROR" },
    });
    this.#watch.stdin.write(`${this.#server.pid} ${this.#endpoint.pid}\n`);
    const [{ ports }] = await inTime(START_MILLISECONDS, once(this.#endpoint, "message"), "start of the endpoint");
    this.#ports = ports;
    if (this.#scenario !== null) await this.#tell(this.#scenario);
  }

  async #tell(scenario) {
    if (!this.#endpoint.connected) throw new Error("it is gone");
    const told = inTime(ANSWER_MILLISECONDS, once(this.#endpoint, "message"), "what it was told");
    this.#endpoint.send(scenario);
    await told;
  }
}
