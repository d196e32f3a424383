/**
 * The best that a careful user could do with what Restate offers: names of steps are kept by the run itself,
 * events by a virtual object, the attempts of a step are run blocks, and whatever is said is checked first.
 *
 * Terminate is Restate's cancellation: the run ends itself where it awaits Restate, and is then shown as ended.
 */

import { randomUUID } from "node:crypto";

import { attempt } from "./attempt.mjs";
import { EngineError, quoted } from "./calls.mjs";
import { LIMITS, checkText, given, input, write } from "./form.mjs";
import { inbox, inboxObject } from "./inbox.mjs";
import { invocation, output, workflow } from "./raw.mjs";
import { Steps, failure } from "./steps.mjs";

const STATUSES = { pending: "queued", scheduled: "queued", ready: "queued" };
const LOOK_MILLISECONDS = 20;

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `env.PROBE` of a caller: the five calls. */
export function binding(calls, token) {
  const path = (service, id) => `/${service(token)}/${encodeURIComponent(id)}`;
  const found = (id) => invocation(calls, token, id);

  const handle = (id) =>
    Object.freeze({
      id,
      status: async () => told(calls, await found(id), () => output(calls, token, id)),
      sendEvent: async (event) => {
        const { type, payload } = input(event, ["type", "payload"]);
        checkText(type, "the type");
        const text = given(payload, "invalid_payload");
        if ((await found(id)).status === "completed") throw new EngineError("instance_terminal", id);
        const { status, body } = await calls.ingress("POST", `${path(inbox, id)}/accept`, JSON.stringify({ type, payload: text }));
        if (status >= 300) throw refusal(status, body);
      },
      terminate: async () => {
        const { id: invoked, status } = await found(id);
        if (status === "completed") return;
        await calls.admin("PATCH", `/invocations/${invoked}/cancel`);
        while ((await found(id)).status !== "completed") await pause(LOOK_MILLISECONDS);
      },
    });

  return {
    create: async (wanted = {}) => {
      const { id = randomUUID(), params } = input(wanted, ["id", "params"]);
      checkText(id, "the id");
      const { status, body } = await calls.ingress("POST", `${path(workflow, id)}/run/send`, given(params, "invalid_params"));
      if (status >= 300) throw refusal(status, body);
      if (JSON.parse(body).status !== "Accepted") throw new EngineError("instance_exists", id);
      return handle(id);
    },
    get: async (id) => {
      await found(id);
      return handle(id);
    },
  };
}

async function told(calls, { id, status, completion_result: result }, read) {
  if (status === "suspended") return { status: await parked(calls, id) };
  if (status !== "completed") return { status: STATUSES[status] ?? "running" };
  const { body } = await read();
  if (result === "success") return body === "" ? { status: "complete" } : { status: "complete", output: JSON.parse(body) };
  const { message, metadata } = JSON.parse(body);
  const reason = metadata?.reason ?? "terminated"; // cancelled before it began
  return reason === "terminated" ? { status: "terminated" } : { status: "errored", error: { reason, message } };
}

/** What a suspended run stands at is the last command in its journal; a timeout of Restate's has no name. */
async function parked(calls, id) {
  const [last] = await calls.query(
    `SELECT entry_type, name FROM sys_journal WHERE id = ${quoted(id)} AND entry_type LIKE 'Command%'
     ORDER BY index DESC LIMIT 1`,
  );
  if (last?.entry_type !== "Command: Sleep") return "running";
  return last.name ? "sleeping" : "waiting";
}

const CODES = { 404: "unknown_instance" };

function refusal(status, body) {
  if (body.includes("event_queue_full")) return new EngineError("event_queue_full", body);
  return new EngineError(CODES[status] ?? "backend_unavailable", body);
}

let contexts = 0;

/** The services of a scenario. A run that waits is suspended at once, so that each wake has a fresh context. */
export function services(restate, { token, version, journal, probe }) {
  const run = async (ctx, params) => {
    const { Probe } = await import(`${probe}?context=${++contexts}`);
    const steps = new Steps(restate, ctx, token);
    const begun = async () => {
      try {
        const made = new Probe({ VERSION: version, JOURNAL: journal });
        return write(await made.run({ instanceId: ctx.key, params }, steps.surface));
      } catch (error) {
        throw failure(restate, steps.reason(error), String(error?.message ?? error));
      }
    };
    const settled = begun().then(
      (text) => () => text,
      (error) => () => { throw error; },
    );
    const outcome = await Promise.race([steps.doom, settled]);
    if (steps.active === null) return outcome();
    steps.condemn("step_definition_mismatch", `${steps.active} is not settled`);
    return steps.doom;
  };
  const options = {
    hooks: [attempt],
    inactivityTimeout: 0,
    abortTimeout: { days: 1 },
    retryPolicy: { initialInterval: 50, maxInterval: 1000, exponentiationFactor: 2 },
  };
  const text = { contentType: "application/json", serialize: encoded, deserialize: (data) => new TextDecoder().decode(data) };
  const retention = { seconds: LIMITS.retentionSeconds };
  return [
    restate.workflow({
      name: workflow(token),
      handlers: { run: restate.handlers.workflow.workflow({ output: text }, run) },
      options: { ...options, workflowRetention: retention, journalRetention: retention },
    }),
    inboxObject(restate, token, { retryPolicy: options.retryPolicy }),
  ];
}

const encoded = (text) => new TextEncoder().encode(text ?? "");
