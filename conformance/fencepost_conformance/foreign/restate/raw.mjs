/**
 * The smallest translation: each word of the Form is said in the nearest word of Restate, with no code around
 * it. A run is a workflow whose key is the instance's id; an event resolves the durable promise of its type;
 * terminate kills the invocation.
 */

import { randomUUID } from "node:crypto";

import { EngineError } from "../shared/form.mjs";
import { quoted } from "./calls.mjs";

/** The name of the workflow of a scenario. */
export const workflow = (token) => `Probe_${token}`;

const STATUSES = {
  pending: "queued",
  scheduled: "queued",
  ready: "queued",
  running: "running",
  "backing-off": "running",
  paused: "running",
  suspended: "waiting",
};

const KILLED = "[409] killed";

/** `env.PROBE` of a caller: the five calls. */
export function binding(calls, token) {
  const at = (id) => `/${workflow(token)}/${encodeURIComponent(id)}`;

  const accepted = async (path, body) => {
    const { status, body: text } = await calls.ingress("POST", path, body);
    if (status >= 300) throw refusal(status, text);
    return text;
  };

  const handle = (id) => ({
    id,
    status: async () => told(await invocation(calls, token, id), () => output(calls, token, id)),
    sendEvent: async ({ type, payload }) => void (await accepted(`${at(id)}/event`, JSON.stringify({ type, payload }))),
    terminate: async () => {
      const { id: invoked } = await invocation(calls, token, id);
      const { status, body } = await calls.admin("PATCH", `/invocations/${invoked}/kill`);
      if (status >= 300) throw refusal(status, body);
    },
  });

  return {
    create: async ({ id = randomUUID(), params } = {}) => {
      await accepted(`${at(id)}/run/send`, JSON.stringify(params));
      return handle(id);
    },
    get: async (id) => {
      await invocation(calls, token, id);
      return handle(id);
    },
  };
}

/** What the server holds of an instance's invocation; raises `unknown_instance`. */
export async function invocation(calls, token, id) {
  const [found] = await calls.query(
    `SELECT id, status, completion_result, completion_failure FROM sys_invocation
     WHERE target_service_name = ${quoted(workflow(token))} AND target_service_key = ${quoted(id)}
     AND target_handler_name = 'run'`,
  );
  if (found === undefined) throw new EngineError("unknown_instance", `there is no invocation of ${id}`);
  return found;
}

/** The output of a workflow that has ended: `{status, body}`. */
export const output = (calls, token, id) =>
  calls.ingress("GET", `/restate/workflow/${workflow(token)}/${encodeURIComponent(id)}/output`);

async function told({ status, completion_result: result, completion_failure: failure }, read) {
  if (status !== "completed") return { status: STATUSES[status] ?? status };
  if (failure === KILLED) return { status: "terminated" };
  if (result === "failure") return { status: "errored", error: { message: failure } };
  const { body } = await read();
  return body === "" ? { status: "complete" } : { status: "complete", output: JSON.parse(body) };
}

function refusal(status, body) {
  return new EngineError(status === 404 ? "unknown_instance" : `restate_${status}`, body);
}

/** The services of a scenario. */
export function services(restate, { token, version, journal, probe }) {
  const run = async (ctx, params) => {
    const { Probe } = await import(probe);
    return new Probe({ VERSION: version, JOURNAL: journal }).run({ instanceId: ctx.key, params }, step(ctx));
  };
  const event = (ctx, { type, payload }) => ctx.promise(type).resolve(payload);
  const handlers = { run, event: restate.handlers.workflow.shared(event) };
  return [restate.workflow({ name: workflow(token), handlers })];
}

/** The three operations. */
const step = (ctx) => ({
  do: (name, effect, policy) => ctx.run(name, effect, policy && retries(policy)),
  sleep: (name, seconds) => ctx.sleep({ seconds }, name),
  waitForEvent: (name, { type, timeoutSeconds }) => ctx.promise(type).get().orTimeout({ seconds: timeoutSeconds }),
});

const retries = ({ maxAttempts, initialDelaySeconds = 0, backoff = "constant", maxDelaySeconds = 43200 }) => ({
  maxRetryAttempts: maxAttempts,
  initialRetryInterval: { seconds: initialDelaySeconds },
  maxRetryInterval: { seconds: maxDelaySeconds },
  retryIntervalFactor: backoff === "exponential" ? 2 : 1,
});
