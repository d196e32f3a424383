/**
 * The status of an instance that sleeps, and of one that waits. Run it where miniflare is installed: node waiting.mjs
 *
 * The Workers API says that the status "waiting" means an instance that waits for a sleep or an event to finish:
 * https://developers.cloudflare.com/workflows/build/workers-api/#instancestatus
 */

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const miniflare = createRequire(join(process.cwd(), "package.json")).resolve("miniflare");
const { Miniflare } = await import(pathToFileURL(miniflare));

const script = `
  import { WorkflowEntrypoint } from "cloudflare:workers";

  export class Patient extends WorkflowEntrypoint {
    async run(event, step) {
      if (event.payload.sleeps) await step.sleep("a minute", "1 minute");
      else await step.waitForEvent("an event", { type: "go", timeout: "1 minute" });
    }
  }

  export default {
    async fetch(request, { PATIENT }) {
      const sleeping = await PATIENT.create({ params: { sleeps: true } });
      const waiting = await PATIENT.create({ params: { sleeps: false } });
      await scheduler.wait(2000);
      return Response.json([(await sleeping.status()).status, (await waiting.status()).status]);
    },
  };
`;

const worker = new Miniflare({
  modules: true,
  script,
  compatibilityDate: "2026-07-01",
  workflows: { PATIENT: { name: "patient", className: "Patient" } },
});
const [sleeping, waiting] = await (await worker.dispatchFetch("http://localhost/")).json();
await worker.dispose();

console.log("documented: both are waiting");
console.log(`seen:       the one that sleeps is ${sleeping}, the one that waits is ${waiting}`);
