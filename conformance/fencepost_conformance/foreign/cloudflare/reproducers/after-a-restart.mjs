/**
 * What a restart does to a sleep, and to events. Run it where miniflare is installed: node after-a-restart.mjs
 *
 * Rules of Workflows says that an instance hibernates until a sleep, a retry or an event wakes it, and Events and
 * parameters that an event is kept and delivered when the Workflow reaches the step that waits for its type:
 * https://developers.cloudflare.com/workflows/build/rules-of-workflows/#do-not-rely-on-state-outside-of-a-step
 * https://developers.cloudflare.com/workflows/build/events-and-parameters/
 */

import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const miniflare = createRequire(join(process.cwd(), "package.json")).resolve("miniflare");
const { Miniflare } = await import(pathToFileURL(miniflare));

const script = `
  import { WorkflowEntrypoint } from "cloudflare:workers";

  export class Sleeper extends WorkflowEntrypoint {
    async run(event, step) { await step.sleep("three seconds", "3 seconds"); }
  }

  export class Reader extends WorkflowEntrypoint {
    async run(event, step) {
      const first = await step.waitForEvent("first", { type: "go" });
      await step.sleep("three seconds", "3 seconds");
      const second = await step.waitForEvent("second", { type: "go", timeout: "2 seconds" }).catch(() => null);
      return { first: first.payload, second: second?.payload };
    }
  }

  export default {
    async fetch(request, { SLEEPERS, READERS }) {
      const [, call] = new URL(request.url).pathname.split("/");
      const reader = () => READERS.get("reader");
      const calls = {
        begin: async () => {
          await SLEEPERS.create({ id: "sleeper" });
          await READERS.create({ id: "reader" });
          await scheduler.wait(500);
          await (await reader()).sendEvent({ type: "go", payload: "the only one" });
          await scheduler.wait(500);
        },
        touch: async () => (await reader()).sendEvent({ type: "other", payload: null }),
        look: async () => [await (await SLEEPERS.get("sleeper")).status(), await (await reader()).status()],
      };
      return Response.json((await calls[call]()) ?? null);
    },
  };
`;

const folder = mkdtempSync(join(tmpdir(), "workflows-"));
const start = () =>
  new Miniflare({
    modules: true,
    script,
    compatibilityDate: "2026-07-01",
    workflows: {
      SLEEPERS: { name: "sleepers", className: "Sleeper" },
      READERS: { name: "readers", className: "Reader" },
    },
    workflowsPersist: folder,
  });
const call = async (worker, name) => (await worker.dispatchFetch(`http://localhost/${name}`)).json();
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const before = start();
await call(before, "begin");
await before.dispose(); // ends workerd by SIGKILL
const after = start();
await after.ready;
await pause(5);
const [sleeper] = await call(after, "look");
await call(after, "touch"); // takes the reader up again
await pause(6);
const [, reader] = await call(after, "look");
await after.dispose();
rmSync(folder, { recursive: true });

console.log("documented: the sleep of three seconds is over, and the only event is delivered to the first wait");
console.log(`seen:       5 s after the restart the sleeper is ${sleeper.status}; the reader got ${JSON.stringify(reader.output)}`);
