/**
 * The endpoint: the process that has Restate's SDK, and runs workflow code when the server asks it to.
 *
 *     node endpoint.mjs SHIM SDK PORT...
 *
 * Its parent tells it of each scenario. The services of a scenario are served below its token, as a deployment
 * of their own, over HTTP/2, which is how the SDK serves by itself. What a shim wants to have served `apart`
 * from workflow code has a thread and a port of its own.
 */

import { once } from "node:events";
import { createServer } from "node:http2";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

import { reporter } from "./reporter.mjs";

/** Serve what `list` gives for a scenario; what is given back is told of scenarios and knows the port. */
async function serve(sdk, list, port) {
  const restate = (await import(sdk)).default;
  const handlers = new Map(); // token -> handler of requests
  const server = createServer((request, response) => {
    const handle = handlers.get(request.url.split("/")[1]);
    if (handle === undefined) return void response.writeHead(404).end();
    handle(request, response);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    port: server.address().port,
    begin(scenario) {
      handlers.clear();
      handlers.set(scenario.token, restate.createEndpointHandler({ services: list(restate, scenario) }));
    },
  };
}

async function main() {
  const [shim, sdk, ...ports] = process.argv.slice(2);
  globalThis.fetch = reporter();
  const { services, apart } = await import(`./${shim}.mjs`);
  const served = await serve(sdk, services, Number(ports[0] ?? 0));
  const thread = apart && new Worker(new URL(import.meta.url), { workerData: { shim, sdk, port: Number(ports[1] ?? 0) } });
  const [other] = thread ? await once(thread, "message") : [];
  const told = { ports: thread ? [served.port, other] : [served.port] };

  process.on("message", async (scenario) => {
    served.begin(scenario);
    thread?.postMessage(scenario);
    if (thread) await once(thread, "message");
    process.send(told);
  });

  process.on("disconnect", () => process.exit(0)); // the adapter is gone
  process.send(told);
}

async function beside() {
  const { shim, sdk, port } = workerData;
  const served = await serve(sdk, (await import(`./${shim}.mjs`)).apart, port);
  parentPort.on("message", (scenario) => {
    served.begin(scenario);
    parentPort.postMessage(null);
  });
  parentPort.postMessage(served.port);
}

await (isMainThread ? main() : beside());
