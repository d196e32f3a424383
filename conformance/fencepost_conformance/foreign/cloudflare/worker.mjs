/**
 * What both shims share inside of workerd: the probe's Worker as the caller, and the entry point of a Workflow.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { WorkflowEntrypoint } from "cloudflare:workers";

import probe, { Probe } from "./probe.mjs";

const requests = new AsyncLocalStorage(); // those of a context that are on their way
const { fetch } = globalThis;

globalThis.fetch = (...given) => {
  const answer = fetch(...given);
  requests.getStore()?.add(answer);
  return answer;
};

/** workerd drops what is on its way when a handler has ended; so a context ends once its requests are answered. */
async function answered(perform) {
  const sent = new Set();
  try {
    return await requests.run(sent, perform);
  } finally {
    await Promise.allSettled([...sent]);
  }
}

const shown = (value) => JSON.stringify(value, (_, each) => (each === undefined ? "undefined" : each));

const isHandle = (value) => typeof value?.status === "function";

/** A Workflow as the engine offers it, which notes each call and what came of it. */
function noted(workflow, raw) {
  const note = async (said, called) => {
    try {
      const answer = await called;
      raw.push(`${said} -> ${isHandle(answer) ? "an instance" : shown(answer)}`);
      return answer;
    } catch (error) {
      raw.push(`${said} -> throws ${error}`);
      throw error;
    }
  };
  const instance = (handle) => ({
    id: handle.id,
    status: () => note(`${handle.id}.status()`, handle.status()),
    sendEvent: (event) => note(`${handle.id}.sendEvent(${shown(event)})`, handle.sendEvent(event)),
    terminate: () => note(`${handle.id}.terminate()`, handle.terminate()),
  });
  return {
    create: async (options) => instance(await note(`create(${shown(options)})`, workflow.create(options))),
    get: async (id) => instance(await note(`get(${shown(id)})`, workflow.get(id))),
  };
}

/** The caller's Worker: the probe's, which is handed the shim's `binding` over the engine's. */
export const caller = (binding) => ({
  async fetch(request, env) {
    const raw = [];
    const response = await probe.fetch(request, { PROBE: binding(noted(env.WORKFLOW, raw), env.EXPLORER) });
    return Response.json({ ...(await response.json()), raw });
  },
});

/** The Workflow: `perform(application, event, step)` is the shim's, and constructs the application. */
export const entrypoint = (binding, perform) =>
  class extends WorkflowEntrypoint {
    run(event, step) {
      const { VERSION, JOURNAL, WORKFLOW, EXPLORER } = this.env;
      const construct = () => new Probe({ VERSION, JOURNAL, PROBE: binding(WORKFLOW, EXPLORER) });
      return answered(() => perform(construct, event, step));
    }
  };
