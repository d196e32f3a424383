/**
 * The best that a careful user could do with what Cloudflare Workflows offers: whatever is said is checked
 * first, documents travel as text, and the reason of an end is the first word of its message.
 */

import { EngineError, checkText, given, input, read } from "../shared/form.mjs";
import { CloudflareSteps, idOf, typeOf } from "./steps.mjs";
import { caller, entrypoint } from "./worker.mjs";

const TERMINAL = new Set(["complete", "errored", "terminated"]);
const REASON = /(run_threw|step_failed|step_limit_exceeded|lifetime_exceeded|step_definition_mismatch): ([^]*)$/;
const NOBODY = { type: "nobody waits for this", payload: null };

/** Keys of the instances that are known to be awake, as long as this process lives. */
const awake = new Set();

async function found(workflow, id) {
  const key = typeof id === "string" ? idOf(id) : id;
  let instance;
  try {
    instance = await workflow.get(key);
  } catch (error) {
    if (error.message.includes("instance.not_found")) throw new EngineError("unknown_instance", error.message);
    throw error;
  }
  const status = await instance.status();
  if (!awake.has(key) && !TERMINAL.has(status.status)) await instance.sendEvent(NOBODY); // wakes it after a restart
  awake.add(key);
  return { instance, status };
}

/** `env.PROBE`: the five calls. */
const binding = (workflow) => {
  const handle = (id) =>
    Object.freeze({
      id,
      status: async () => told((await found(workflow, id)).status),
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
      awake.add(idOf(id));
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

export const Application = entrypoint(binding, (construct, { payload: { id, params } }, step) =>
  new CloudflareSteps(step).outcome(construct, { instanceId: id, params: read(params) }),
);

export default caller(binding);
