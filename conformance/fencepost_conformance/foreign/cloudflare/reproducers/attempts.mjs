/**
 * How often a step with a limit of 2 is attempted. Run it where miniflare is installed: node attempts.mjs
 *
 * Sleeping and retrying says that the limit is the total number of attempts:
 * https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/#retry-steps
 */

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const miniflare = createRequire(join(process.cwd(), "package.json")).resolve("miniflare");
const { Miniflare } = await import(pathToFileURL(miniflare));

const script = `
  import { WorkflowEntrypoint } from "cloudflare:workers";

  export class Stubborn extends WorkflowEntrypoint {
    async run(event, step) {
      let attempts = 0;
      const config = { retries: { limit: 2, delay: 10, backoff: "constant" } };
      try {
        await step.do("fails", config, async () => { attempts++; throw new Error("no"); });
      } catch {}
      return attempts;
    }
  }

  export default {
    async fetch(request, { STUBBORN }) {
      const instance = await STUBBORN.create();
      let status;
      do {
        await scheduler.wait(50);
        status = await instance.status();
      } while (status.status !== "complete");
      return Response.json(status.output);
    },
  };
`;

const worker = new Miniflare({
  modules: true,
  script,
  compatibilityDate: "2026-07-01",
  workflows: { STUBBORN: { name: "stubborn", className: "Stubborn" } },
});
const attempts = await (await worker.dispatchFetch("http://localhost/")).json();
await worker.dispose();

console.log("documented: 2 attempts");
console.log(`seen:       ${attempts} attempts`);
