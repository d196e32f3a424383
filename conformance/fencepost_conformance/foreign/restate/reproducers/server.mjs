/** A server of Restate for a script of this folder, with its storage in a temporary folder, and the SDK. */

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http2";
import { request } from "node:http";
import { createRequire } from "node:module";
import { arch, platform, tmpdir } from "node:os";
import { join } from "node:path";

const packages = createRequire(join(process.cwd(), "package.json"));
const folder = mkdtempSync(join(tmpdir(), "restate-"));
writeFileSync(join(folder, "restate.toml"), `node-name = "node"\nlisten-mode = "unix"\nlog-filter = "off"\n`);

export const restate = packages("@restatedev/restate-sdk");
export const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const binary = packages.resolve(`@restatedev/restate-server-${platform()}-${arch()}/bin/restate-server`);
const start = () =>
  spawn(binary, ["--no-logo", "--config-file", "restate.toml", "--base-dir", "data"], {
    cwd: folder,
    env: { DO_NOT_TRACK: "1" },
    stdio: "ignore",
  });

let server = start();
process.on("exit", () => {
  server.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

/** A call of the ingress or the admin API: `{status, body}`. */
export const call = (api, method, path, body) =>
  new Promise((resolve, reject) => {
    const headers = { accept: "application/json", ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const options = { socketPath: join(folder, "data", "node", `${api}.sock`), method, path, headers };
    request(options, async (response) => {
      const text = Buffer.concat(await Array.fromAsync(response)).toString();
      resolve({ status: response.statusCode, body: text });
    })
      .on("error", reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
  });

/** Serve these services, and have the server know of them. */
export async function serve(...services) {
  const endpoint = createServer(restate.createEndpointHandler({ services, logger: () => {} }));
  await new Promise((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  const uri = `http://127.0.0.1:${endpoint.address().port}`;
  for (;;) {
    const answer = await call("admin", "POST", "/deployments", { uri }).catch(() => ({ status: 0 }));
    if (answer.status === 201) return;
    await pause(100);
  }
}

/** SIGKILL of the server, and another one on the same storage. */
export async function restart() {
  server.kill("SIGKILL");
  await new Promise((resolve) => server.once("exit", resolve));
  server = start();
  while ((await call("ingress", "GET", "/restate/health").catch(() => ({}))).status !== 200) await pause(100);
}
