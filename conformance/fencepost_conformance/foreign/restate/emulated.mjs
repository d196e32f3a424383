/**
 * The best that a careful user could do with what Restate offers: names of steps are kept by the run itself,
 * events by a virtual object, the attempts of a step are run blocks, and whatever is said is checked first.
 *
 * Terminate is Restate's cancellation, by which a run ends itself where it awaits Restate. An attempt that has
 * been asked to suspend hears of none while an effect goes on, so that it is also told by a shared handler.
 */

import { randomUUID } from "node:crypto";

import { EngineError, LIMITS, checkText, given, input } from "../shared/form.mjs";
import { attempt } from "./attempt.mjs";
import { inbox, inboxObject } from "./inbox.mjs";
import { SUSPENDING, ended, invocation, live, workflow } from "./raw.mjs";
import { RestateSteps } from "./steps.mjs";

const LOOK_MILLISECONDS = 20;

const retryPolicy = { initialInterval: 50, maxInterval: 1000, exponentiationFactor: 2 };

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** `env.PROBE` of a caller: the five calls. */
export function binding(calls, token) {
  const path = (service, id) => `/${service(token)}/${encodeURIComponent(id)}`;
  const end = (id) => ended(calls, token, id);

  const handle = (id) =>
    Object.freeze({
      id,
      status: async () => told(await end(id)) ?? (await live(calls, token, id)) ?? told(await end(id)),
      sendEvent: async (event) => {
        const { type, payload } = input(event, ["type", "payload"]);
        checkText(type, "the type");
        const text = given(payload, "invalid_payload");
        if ((await end(id)) !== null) throw new EngineError("instance_terminal", id);
        const { status, body } = await calls.ingress("POST", `${path(inbox, id)}/accept`, JSON.stringify({ type, payload: text }));
        if (status >= 300) throw refusal(status, body);
      },
      terminate: async () => {
        if ((await end(id)) !== null) return;
        const { id: invoked } = await invocation(calls, token, id);
        await calls.admin("PATCH", `/invocations/${invoked}/cancel`);
        calls.ingress("POST", `${path(workflow, id)}/stop`).catch(() => {}); // no answer while code computes
        while ((await end(id)) === null) await pause(LOOK_MILLISECONDS);
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
      await end(id);
      return handle(id);
    },
  };
}

function told(end) {
  if (end === null) return undefined;
  const { output, failure } = end;
  if (failure === undefined) return output === "" ? { status: "complete" } : { status: "complete", output: JSON.parse(output) };
  const reason = failure.metadata?.reason ?? "terminated"; // cancelled before it began
  return reason === "terminated" ? { status: reason } : { status: "errored", error: { reason, message: failure.message } };
}

const CODES = { 404: "unknown_instance" };

function refusal(status, body) {
  if (body.includes("event_queue_full")) return new EngineError("event_queue_full", body);
  return new EngineError(CODES[status] ?? "backend_unavailable", body);
}

let contexts = 0;
const running = new Map(); // id of an instance -> what stops its present context

/** The services of a scenario. A run that waits is suspended at once, so that each wake has a fresh context. */
export function services(restate, { token, version, journal, probe }) {
  const run = async (ctx, params) => {
    const { Probe } = await import(`${probe}?context=${++contexts}`);
    const steps = new RestateSteps(restate, ctx, token);
    running.set(ctx.key, steps);
    const construct = () => new Probe({ VERSION: version, JOURNAL: journal });
    return steps.outcome(construct, { instanceId: ctx.key, params });
  };
  const stop = async (ctx) => void running.get(ctx.key)?.stop();
  const options = {
    hooks: [attempt],
    ...SUSPENDING,
    retryPolicy,
  };
  const text = { contentType: "application/json", serialize: encoded, deserialize: (data) => new TextDecoder().decode(data) };
  const retention = { seconds: LIMITS.retentionSeconds };
  return [
    restate.workflow({
      name: workflow(token),
      handlers: {
        run: restate.handlers.workflow.workflow({ output: text }, run),
        stop: restate.handlers.workflow.shared(stop),
      },
      options: { ...options, workflowRetention: retention, journalRetention: retention },
    }),
  ];
}

/** Served apart from workflow code, so that an inbox takes events also while that computes. */
export const apart = (restate, { token }) => [inboxObject(restate, token, { retryPolicy, journalRetention: 0 })];

const encoded = (text) => new TextEncoder().encode(text ?? "");
