/**
 * The best that a careful user could do with what Cloudflare Workflows offers: whatever is said is checked
 * first, documents travel as text, and the reason of an end is the first word of its message.
 */

import { EngineError, checkText, given, input, read } from "../shared/form.mjs";
import { CloudflareSteps, idOf, typeOf } from "./steps.mjs";
import { caller, entrypoint } from "./worker.mjs";

const TERMINAL = new Set(["complete", "errored", "terminated"]);
const REASON = /(run_threw|step_failed|step_limit_exceeded|lifetime_exceeded|step_definition_mismatch): ([^]*)$/;
const STANDING = { sleep: "sleeping", waitForEvent: "waiting" };
const NOBODY = { type: "nobody waits for this", payload: null };

async function found(workflow, id) {
  try {
    const instance = await workflow.get(typeof id === "string" ? idOf(id) : id);
    return { instance, status: await instance.status() };
  } catch (error) {
    if (error.message.includes("instance.not_found")) throw new EngineError("unknown_instance", error.message);
    throw error;
  }
}

/** `env.PROBE`: the five calls. */
const binding = (workflow, explorer) => {
  const handle = (id) =>
    Object.freeze({
      id,
      status: async () => {
        const { status } = await found(workflow, id);
        return status.status === "running" ? { status: await standing(explorer, id) } : told(status);
      },
      sendEvent: async (event) => {
        const { type, payload } = input(event, ["type", "payload"]);
        checkText(type, "the type");
        const sent = { key: crypto.randomUUID(), payload: given(payload, "invalid_payload") };
        const { instance, status } = await found(workflow, id);
        if (TERMINAL.has(status.status)) throw new EngineError("instance_terminal", id);
        await instance.sendEvent({ type: typeOf(type), payload: sent });
      },
      terminate: async () => {
        const { instance, status } = await found(workflow, id);
        if (TERMINAL.has(status.status)) return;
        try {
          await instance.terminate();
        } catch (error) {
          if (!error.message.includes("instance.cannot_terminate")) throw error; // it has ended in between
        }
      },
    });

  return Object.freeze({
    create: async (wanted = {}) => {
      const { id = crypto.randomUUID(), params } = input(wanted, ["id", "params"]);
      checkText(id, "the id");
      const payload = { id, params: given(params, "invalid_params") };
      if (await isHeld(workflow, id)) throw new EngineError("instance_exists", id);
      await workflow.create({ id: idOf(id), params: payload });
      return handle(id);
    },
    get: async (id) => {
      await found(workflow, id);
      return handle(id);
    },
  });
};

async function isHeld(workflow, id) {
  try {
    await found(workflow, id);
    return true;
  } catch (error) {
    if (error.name === "unknown_instance") return false;
    throw error;
  }
}

function told({ status, output, error }) {
  if (status === "complete" && output !== null) return { status, output: read(output) };
  if (status !== "errored") return { status };
  const [, reason, message] = REASON.exec(error.message) ?? [];
  return { status, error: reason === undefined ? error : { reason, message } };
}

/** The engine's own API for whoever looks after it: the result of a request. */
async function asked(explorer, path) {
  const response = await explorer.fetch(`http://explorer/workflows/probe/instances${path}`);
  const { result } = await response.json();
  return result;
}

/** What a running instance stands at, by the engine's own record of its steps. */
async function standing(explorer, id) {
  const { steps } = await asked(explorer, `/${idOf(id)}`);
  const { type, finished } = steps.at(-1) ?? {}; // the last that was begun
  return finished === false ? STANDING[type] : "running";
}

/** Send every instance that has not ended an event, since the engine takes them up after a restart only then. */
async function wake({ WORKFLOW, EXPLORER }) {
  const instances = await asked(EXPLORER, "?per_page=100");
  const live = instances.filter(({ status }) => status && !TERMINAL.has(status)); // one without was only asked for
  await Promise.all(live.map(async ({ id }) => (await WORKFLOW.get(id)).sendEvent(NOBODY)));
  return Response.json({ ok: live.map(({ id }) => id), raw: [] });
}

export const Application = entrypoint(binding, (construct, { payload: { id, params } }, step) =>
  new CloudflareSteps(step).outcome(construct, { instanceId: id, params: read(params) }),
);

const calls = caller(binding);

export default {
  fetch: (request, env) => (request.url.endsWith("/wake") ? wake(env) : calls.fetch(request, env)),
};
