/**
 * The smallest translation: each word of the Form is said in the nearest word and setting of Restate, with no
 * code around it. A run is a workflow whose key is the instance's id; an event is a signal whose name is its
 * type, sent by a service; terminate kills the invocation; what nobody catches is a terminal error.
 */

import { randomUUID } from "node:crypto";

import { EngineError } from "../shared/form.mjs";
import { quoted } from "./calls.mjs";

/** The name of the workflow of a scenario. */
export const workflow = (token) => `Probe_${token}`;

const events = (token) => `Events_${token}`;

const STATUSES = { inboxed: "queued", scheduled: "queued", invoked: "running", paused: "running" };

const UNKNOWN = 404;
const NOT_ENDED = 470;

/** `env.PROBE` of a caller: the five calls. */
export function binding(calls, token) {
  const at = (id) => `/${workflow(token)}/${encodeURIComponent(id)}`;

  const end = (id) => ended(calls, token, id);

  const accepted = async (path, body) => {
    const { status, body: text } = await calls.ingress("POST", path, body);
    if (status >= 300) throw refusal(status, text);
    return text;
  };

  const handle = (id) => ({
    id,
    status: async () => told(await end(id)) ?? (await live(calls, token, id)) ?? told(await end(id)),
    sendEvent: async ({ type, payload }) => {
      const { id: target } = await invocation(calls, token, id);
      await accepted(`/${events(token)}/send`, JSON.stringify({ target, type, payload }));
    },
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
      await end(id);
      return handle(id);
    },
  };
}

/** How an instance has ended: `{output}` (a text) or `{failure}`, or null; raises `unknown_instance`. */
export async function ended(calls, token, id) {
  const path = `/restate/workflow/${workflow(token)}/${encodeURIComponent(id)}/output`;
  const { status, body } = await calls.ingress("GET", path);
  if (status === 200) return { output: body };
  const failure = JSON.parse(body);
  if (failure.source === "invocation") return { failure };
  if (status === NOT_ENDED) return null;
  throw refusal(status, body);
}

/** What the server holds of an instance's invocation. */
export async function invocation(calls, token, id) {
  const [found] = await calls.query(
    `SELECT id, status FROM sys_invocation_status WHERE target_service_name = ${quoted(workflow(token))}
     AND target_service_key = ${quoted(id)} AND target_handler_name = 'run'`,
  );
  if (found === undefined) throw new EngineError("unknown_instance", `there is no invocation of ${id}`);
  return found;
}

/** Where an instance stands that has not ended, or undefined if it now has. */
export async function live(calls, token, id) {
  const { id: invoked, status } = await invocation(calls, token, id);
  if (status === "completed") return undefined;
  return { status: status === "suspended" ? await parked(calls, invoked) : STATUSES[status] };
}

/** What a suspended run stands at is the last command in its journal; a timeout of Restate's has no name. */
export async function parked(calls, id) {
  const [last] = await calls.query(
    `SELECT entry_type, name FROM sys_journal WHERE id = ${quoted(id)} AND entry_type LIKE 'Command%'
     ORDER BY index DESC LIMIT 1`,
  );
  if (last?.entry_type !== "Command: Sleep") return "running";
  return last.name ? "sleeping" : "waiting";
}

function told(end) {
  if (end === null) return undefined;
  const { output, failure } = end;
  if (failure?.message === "killed") return { status: "terminated" };
  if (failure !== undefined) return { status: "errored", error: { message: failure.message } };
  return output === "" ? { status: "complete" } : { status: "complete", output: JSON.parse(output) };
}

function refusal(status, body) {
  return new EngineError(status === UNKNOWN ? "unknown_instance" : `restate_${status}`, body);
}

/** An invocation that waits is suspended at once; one that works is never aborted. */
export const SUSPENDING = { inactivityTimeout: 0, abortTimeout: { days: 1 } };

/** The services of a scenario. */
export function services(restate, { token, version, journal, probe }) {
  const run = async (ctx, params) => {
    const { Probe } = await import(probe);
    try {
      const made = new Probe({ VERSION: version, JOURNAL: journal });
      return await made.run({ instanceId: ctx.key, params }, step(ctx));
    } catch (error) {
      throw error instanceof restate.TerminalError ? error : new restate.TerminalError(String(error?.message ?? error));
    }
  };
  const send = async (ctx, { target, type, payload }) => ctx.invocation(target).signal(type).resolve(payload);
  return [
    restate.workflow({ name: workflow(token), handlers: { run }, options: SUSPENDING }),
    restate.service({ name: events(token), handlers: { send }, options: { journalRetention: 0 } }),
  ];
}

/** The three operations. */
const step = (ctx) => ({
  do: (name, effect, policy) => ctx.run(name, effect, retries(policy)),
  sleep: (name, seconds) => ctx.sleep({ seconds }, name),
  waitForEvent: (name, { type, timeoutSeconds }) => ctx.signal(type).orTimeout({ seconds: timeoutSeconds }),
});

const ONCE = { maxAttempts: 1 };

const retries = ({ maxAttempts, initialDelaySeconds = 0, backoff, maxDelaySeconds = 43200 } = ONCE) => ({
  maxRetryAttempts: maxAttempts,
  initialRetryInterval: { seconds: initialDelaySeconds },
  maxRetryInterval: { seconds: maxDelaySeconds },
  retryIntervalFactor: backoff === "exponential" ? 2 : 1,
});
