/**
 * The endpoint: the process that has Restate's SDK, and runs workflow code when the server asks it to.
 *
 *     node endpoint.mjs SHIM SDK PORT
 *
 * Its parent tells it of each scenario. The services of a scenario are served below its token, as a deployment
 * of their own, over HTTP/2, which is how the SDK serves by itself.
 */

import { rmSync } from "node:fs";
import { createServer } from "node:http2";

const [shim, sdk, port] = process.argv.slice(2);
const restate = (await import(sdk)).default;
const { services } = await import(`./${shim}.mjs`);

const handlers = new Map(); // token -> handler of requests
let started = null;

const server = createServer((request, response) => {
  const [, token] = request.url.split("/");
  const handle = handlers.get(token);
  if (handle === undefined) return void response.writeHead(404).end();
  handle(request, response);
});

const TOLD = {
  begin: (scenario) => {
    handlers.clear();
    handlers.set(scenario.token, restate.createEndpointHandler({ services: services(restate, scenario) }));
  },
  server: () => {},
};

process.on("message", (message) => {
  if (message.server !== undefined) started = message;
  for (const [word, tell] of Object.entries(TOLD)) if (word in message) tell(message[word]);
  process.send({ port: server.address().port });
});

process.on("disconnect", () => {
  // the adapter is gone
  try {
    if (started !== null) process.kill(started.server, "SIGKILL");
  } catch {
    // it had ended
  }
  if (started !== null) rmSync(started.folder, { recursive: true, force: true, maxRetries: 3 });
  process.exit(0);
});

server.listen(Number(port), "127.0.0.1", () => process.send({ port: server.address().port }));
