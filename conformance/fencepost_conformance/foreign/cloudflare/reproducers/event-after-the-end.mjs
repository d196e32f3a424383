/**
 * An event for an instance that has ended. Run it where miniflare is installed: node event-after-the-end.mjs
 *
 * The Workers API says that sendEvent throws an exception if the Workflow is not running or is errored:
 * https://developers.cloudflare.com/workflows/build/workers-api/#sendevent
 */

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const miniflare = createRequire(join(process.cwd(), "package.json")).resolve("miniflare");
const { Miniflare } = await import(pathToFileURL(miniflare));

const script = `
  import { WorkflowEntrypoint } from "cloudflare:workers";

  export class Short extends WorkflowEntrypoint {
    async run(event) { if (event.payload.fails) throw new Error("no"); }
  }

  export default {
    async fetch(request, { SHORT }) {
      const seen = {};
      for (const fails of [false, true]) {
        const instance = await SHORT.create({ params: { fails } });
        let status;
        do {
          await scheduler.wait(50);
          ({ status } = await instance.status());
        } while (status !== "complete" && status !== "errored");
        seen[status] = await instance.sendEvent({ type: "go", payload: {} }).then(() => "accepted", String);
      }
      return Response.json(seen);
    },
  };
`;

const worker = new Miniflare({
  modules: true,
  script,
  compatibilityDate: "2026-07-01",
  workflows: { SHORT: { name: "short", className: "Short" } },
});
const seen = await (await worker.dispatchFetch("http://localhost/")).json();
await worker.dispose();

console.log("documented: sendEvent throws an exception in both cases");
console.log(`seen:       ${JSON.stringify(seen)}`);
