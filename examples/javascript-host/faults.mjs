/**
 * The same Host with one fault: what engines get wrong, each as a small change of its text.
 *
 * `node host.mjs --fault NAME` loads the modules of the Host with that change. Each fault names the clause that
 * it breaks and a directed scenario that shows it; `node faults.mjs` prints both as JSON. The places that are
 * changed are at the same time those that enforce the clauses, so the table is a way to read the Host.
 */

import { registerHooks } from "node:module";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

const fault = (clause, scenario, ...edits) => ({ clause, scenario, edits });

/** In `module` stands `before`, once; the fault is `after`. */
const instead = (module, before, after) => ({ module, before, after });

/** Something comes in front of `place`. */
const ahead = (module, place, addition) => instead(module, place, `${addition}\n  ${place}`);

export const FAULTS = {
  // The caller's calls

  "duplicate-id-runs-again": fault("BND-3", "BND/taken-id-is-refused",
    instead("engine", "if (this.#find(id) !== undefined) throw", "if (false) throw")),
  "ids-counted-in-code-units": fault("BND-2", "BND/ids-up-to-256-scalars",
    instead("limits", "[...value].length", "value.length")),
  "failed-run-fails-its-status": fault("BND-6", "BND/output-and-error-keys",
    ahead("engine", "return rules.statusOf(this.#held(id));", 'if (rules.statusOf(this.#held(id)).error) throw new HostError("failed", "it failed");')),
  "terminal-overwritten": fault("TRM-3", "TRM/already-terminal",
    instead("rules", "if (instance.outcome !== null) return;", "")),
  "terminated-before-the-stop": fault("TRM-2", "TRM/an-unproven-stop",
    instead("engine", "|| instance.unproven.size > 0)", '|| instance.unproven.size > 0 && instance.outcome.status !== "terminated")')),
  "context-left-running": fault("TRM-1", "TRM/the-context-is-physically-stopped",
    instead("engine", "owner.thread.terminate().then", "Promise.resolve().then"),
    instead("engine", "this.owners.delete(owner);", ""),
    instead("owner", "this.stop === null && (", "(")),

  // Documents

  "toJSON-run": fault("DOC-6", "DOC/params-with-code",
    ahead("documents", "if (!isObject(value)) return emit", 'if (typeof value?.toJSON === "function") value = value.toJSON();')),
  "getter-run": fault("DOC-6", "DOC/params-with-code",
    instead("documents", 'descriptor.value : refuse("an accessor")', "descriptor.value : value[key]")),
  "lone-surrogates-accepted": fault("DOC-3", "DOC/params-with-refused-values",
    instead("documents", 'value.isWellFormed() ? JSON.stringify(value) : refuse("a lone surrogate")', "JSON.stringify(value)")),
  "holes-become-null": fault("DOC-4", "DOC/params-with-refused-values",
    instead("documents", "keys.length !== value.length + 1", "false"),
    instead("documents", 'refuse("an array with a hole")', "{ value: null }")),
  "negative-zero-kept": fault("EVT-3", "EVT/byte-bound-counts-canonical-form", // DOC-9: nothing but its size is seen
    ahead("documents", "switch (typeof value) {", 'if (Object.is(value, -0)) return "-0";')),
  "proto-swallowed": fault("DOC-10", "DOC/special-keys",
    instead("documents", "JSON.parse(text)", "JSON.parse(text, (_, value) => (isObject(value) && !Array.isArray(value) ? Object.assign({}, value) : value))")),
  "null-is-none": fault("DOC-7", "DOC/none-empty-null",
    instead("documents", "if (root === undefined)", "if (root === undefined || root === null)")),

  // Events

  "event-lost-before-the-wait": fault("EVT-7", "EVT/every-live-status-accepts",
    instead("rules", "instance.inbox.push({ type, payload, at: now, bytes });", "")),
  "last-in-first-out": fault("WFE-8", "worked/05-three-events-two-waits-any",
    instead("rules", "instance.inbox.findIndex", "instance.inbox.findLastIndex")),
  "event-to-two-waits": fault("WFE-2", "WFE/one-event-one-wait",
    ahead("rules", "finish(step, { value: payload });", "instance.inbox.push({ type, payload, at: now, bytes: 0 });")),
  "types-fold-case": fault("EVT-8", "EVT/types-match-exactly",
    instead("rules", "step.type === type &&", "step.type.toLowerCase() === type.toLowerCase() &&")),
  "equal-events-are-one": fault("EVT-9", "EVT/two-equal-events",
    ahead("rules", "const bytes =", "if (instance.inbox.some((event) => event.type === type && event.payload === payload)) return true;")),
  "capacity-by-characters": fault("EVT-3", "EVT/byte-bound-counts-utf8",
    instead("rules", "Buffer.byteLength(`{$", "((text) => text.length)(`{$")),
  "capacity-without-the-last": fault("EVT-4", "EVT/count-bound",
    instead("rules", "instance.inbox.length >= LIMITS.inboxEvents", "instance.inbox.length + 1 >= LIMITS.inboxEvents")),
  "hand-over-counted": fault("EVT-5", "worked/13-hand-over-past-a-full-inbox",
    instead("rules", 'if (step?.kind === "wait" && step.type', 'if (instance.inbox.length < LIMITS.inboxEvents && step?.kind === "wait" && step.type')),
  "timeout-at-its-own-instant": fault("WFE-5", "WFE/event-at-the-deadline-in-one-breath",
    instead("rules", "step.type === type && now <= step.deadline", "step.type === type && now < step.deadline")),
  "late-event-in-time": fault("WFE-6", "WFE/late-event-before-the-timeout-is-processed",
    instead("rules", "step.type === type && now <= step.deadline", "step.type === type")),
  "inbox-not-looked-at": fault("WFE-7", "WFE/match-in-the-inbox",
    instead("rules", "type === step.type && at <= step.deadline", "false")),
  "wrapper-around-the-payload": fault("WFE-4", "WFE/no-wrapper",
    instead("rules", "{ value: payload }", '{ value: `{"payload":${payload ?? null}}` }')),

  // Steps

  "overlap-allowed": fault("STP-6", "worked/06-overlap-is-a-mismatch",
    ahead("context", "if (active !== null) { // STP-6", "if (active !== null) return active.promise.then(() => begin(kind, name, check, effect));")),
  "mismatch-catchable": fault("STP-6", "STP/a-handled-failure-cannot-hide-an-overlap",
    ahead("context", "if (active !== null) { // STP-6", 'if (active !== null) return Promise.reject(new Error("steps overlap"));')),
  "nested-allowed": fault("STP-7", "STP/a-nested-step-overlaps",
    instead("context", "if (active !== null) { // STP-6", "if (active !== null && !active.isRunning) { // STP-6"),
    instead("context", "name, effect };", "name, effect, outer: active };"),
    instead("context", "  active = null;\n", "  active = active.outer;\n"),
    ahead("context", "if (run) return perform(active);", "if (run) active.isRunning = true;")),
  "unsettled-allowed": fault("STP-8", "STP/unsettled-step-beats-the-outcome",
    instead("context", "active === null ? outcomeOf(result) : { isUnsettled: true }", "outcomeOf(result)")),
  "finally-at-suspension": fault("STP-12", "STP/suspension-runs-no-handler",
    instead("rules", 'return { point: "parked" };', 'return { point: "parked", problem: "suspended" };'),
    instead("engine", "owner.token !== instance.owner && !", "owner.token !== instance.owner && owner.drained === owner.posted && !")),
  "undefined-is-no-outcome": fault("STP-13", "STP/undefined-is-an-outcome",
    instead("rules", "if (known?.outcome) return", 'if (known?.outcome?.value || known?.outcome?.error || known?.kind === "sleep" && known.outcome) return')),
  "replays-are-validated": fault("STP-3", "STP/finished-names-ignore-bad-arguments",
    ahead("rules", "if (known?.outcome) return", "if (problem !== undefined) return { problem };")),
  "newer-policy-counts": fault("STP-5", "STP/pending-attempts-are-not-widened",
    ahead("rules", "instance.steps.set(name, step);", "Object.assign(step, options);")),
  "step-limit-catchable": fault("STP-9", "worked/12-step-limit",
    ahead("rules", 'decide(instance, failed("step_limit_exceeded"));', 'return { problem: "there are too many steps" };')),
  "names-normalized": fault("STP-16", "STP/names-are-compared-exactly",
    ahead("context", "if (dead) return never;", "name = name?.normalize?.() ?? name;")),
  "module-state-survives": fault("CTX-1", "CTX/fresh-state-after-every-suspension",
    instead("owner", "this.thread = freshThread();", "this.thread = globalThis.used?.pop() ?? freshThread();"),
    ahead("engine", "owner.stop ??=", "if (owner.stop === null) (globalThis.used ??= []).push(owner.thread.removeAllListeners('message'));"),
    instead("engine", "owner.thread.terminate().then", "Promise.resolve().then"),
    ahead("context", "const settle = ", "active = toSend = null, dead = false, dealt = 0;")),
  "version-pinned-for-life": fault("CTX-2", "CTX/a-wake-takes-the-version-of-its-time",
    instead("engine", "const version = drawn(", "const version = instance.version ??= drawn(")),
  "success-done-again": fault("DO-6", "DO/committed-success-survives-a-restart",
    ahead("engine", "instance.owner = null; // lost", 'instance.steps.forEach((step) => step.kind === "do" && (step.outcome = null));')),
  "retry-in-the-same-context": fault("DO-5", "DO/retries-run-in-fresh-contexts",
    ahead("rules", "if (step.deadline > now) park", "if (step.deadline <= now) return { run: true };")),
  "backoff-doubles-at-once": fault("DO-3", "DO/exponential-doubles-up-to-the-maximum",
    instead("rules", "2 ** (attempts - 1)", "2 ** attempts")),
  "event-hastens-a-retry": fault("DO-10", "DO/an-event-hastens-no-retry",
    instead("rules", "now < step.deadline ? park(instance, step) : { run: true }", "({ run: true })"),
    ahead("rules", "const bytes =", 'if (step?.kind === "do") instance.parked = null;')),
  "sleep-begins-again": fault("SLP-1", "SLP/first-call-fixes-the-deadline",
    instead("rules", "known ?? begun(", '(kind === "sleep" ? undefined : known) ?? begun(')),
  "sleep-cut-to-the-lifetime": fault("SLP-4", "SLP/never-shortened-to-the-lifetime",
    ahead("rules", "instance.steps.set(name, step);", "step.deadline = Math.min(step.deadline, instance.created + (LIMITS.lifetimeSeconds - 1) * SECOND);")),

  // Errors

  "error-known-by-its-name": fault("ERR-2", "worked/09-copied-name-is-not-genuine",
    instead("context", 'genuine.get(error) === "step_failed"', 'error?.name === "step_failed"')),
  "error-name-writable": fault("ERR-1", "ERR/shape-of-a-host-error",
    instead("context", "writable: false", "writable: true")),
  "timeout-is-step-failed": fault("ERR-3", "ERR/everything-else-is-run-threw",
    instead("context", 'genuine.get(error) === "step_failed"', "genuine.has(error)")),

  // Limits, publication, owners

  "lifetime-from-the-last-context": fault("LIF-4", "LIF/restarts-and-replays-move-nothing",
    ahead("engine", "instance.tokens += 1;", "instance.created = this.world.now;")),
  "settled-late-is-complete": fault("LIF-5", "LIF/a-run-that-settles-late",
    instead("engine", "    this.#expire(owner.instance);\n", "")),
  "parked-before-the-stop": fault("PUB-1", "PUB/sleeping-after-the-stop",
    instead("rules", "instance.parked !== null && instance.unproven.size === 0", "instance.parked !== null")),
  "ended-before-the-stop": fault("PUB-1", "PUB/terminal-after-the-stop",
    instead("engine", "|| instance.unproven.size > 0)", ")")),
  "stale-owner-commits": fault("PUB-2", "PUB/a-stale-owner-commits-no-step",
    instead("engine", "return owner.token === owner.instance.owner;", "return owner.instance.outcome === null;")),
  "purged-too-early": fault("RET-1", "worked/14-retention",
    instead("rules", "LIMITS.retentionSeconds * SECOND", "LIMITS.retentionSeconds")),
};

/** From here on modules of the Host are loaded with this fault in them. */
export function breakHost(name) {
  if (!Object.hasOwn(FAULTS, name)) throw new Error(`there is no fault ${name}; 'node faults.mjs' lists them`);
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const edits = FAULTS[name].edits.filter(({ module }) => url === new URL(`${module}.mjs`, import.meta.url).href);
      return edits.length === 0 ? loaded : { ...loaded, source: edits.reduce(edited, String(loaded.source)) };
    },
  });
}

function edited(source, { module, before, after }) {
  const parts = source.split(before);
  if (parts.length !== 2) throw new Error(`${module}.mjs has ${parts.length - 1} times: ${before}`);
  return parts.join(after);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const listed = Object.entries(FAULTS).map(([name, { clause, scenario }]) => ({ name, clause, scenario }));
  console.log(JSON.stringify(listed, null, 2));
}
