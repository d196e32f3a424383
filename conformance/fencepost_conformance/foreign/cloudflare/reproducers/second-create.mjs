/**
 * A second create with an id that is in use. Run it where miniflare is installed: node second-create.mjs
 *
 * The Workers API says that create throws an error if the id is used by an existing instance:
 * https://developers.cloudflare.com/workflows/build/workers-api/#create
 */

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const miniflare = createRequire(join(process.cwd(), "package.json")).resolve("miniflare");
const { Miniflare } = await import(pathToFileURL(miniflare));

const script = `
  import { WorkflowEntrypoint } from "cloudflare:workers";

  export class Order extends WorkflowEntrypoint {
    async run(event) { return event.payload; }
  }

  export default {
    async fetch(request, { ORDERS }) {
      const first = await ORDERS.create({ id: "one", params: { number: 1 } });
      while ((await first.status()).status !== "complete") await scheduler.wait(50);
      const second = await ORDERS.create({ id: "one", params: { number: 2 } }).then(() => "accepted", String);
      return Response.json({ second, status: await first.status() });
    },
  };
`;

const worker = new Miniflare({
  modules: true,
  script,
  compatibilityDate: "2026-07-01",
  workflows: { ORDERS: { name: "orders", className: "Order" } },
});
const { second, status } = await (await worker.dispatchFetch("http://localhost/")).json();
await worker.dispose();

console.log("documented: the second create throws an error");
console.log(`seen:       the second create is ${second}; the instance is ${JSON.stringify(status)}`);
