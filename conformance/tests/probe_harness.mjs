/**
 * Runs programs in the JavaScript probe, under a step and a journal that are nobody's Host.
 *
 * `node probe_harness.mjs PROBE` reads a JSON list of jobs and writes a JSON list of answers. The twin of the step
 * and of the journal, and what is written down, are in `test_probe_javascript.py`.
 *
 * A turn ends when no microtask is left. What waits for a later one (an answer of the journal, the end of a
 * sleep or a wait) is let go together when the next begins. Timers fire only when nothing else is left.
 */

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { runInThisContext } from "node:vm";

const TIMER_ROUNDS = 3;
const LONG = 64;
const MOST_ATTEMPTS = 4;
const ADDRESS = "http://journal.test/token";

const macrotask = () => new Promise((resolve) => setImmediate(resolve));

// What a value is, in JSON: objects as objects, everything that JSON lacks as an array that begins with a word

const describe = (value, above = []) => {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "string") return value.length > LONG ? ["text", value.length, value.slice(-1)] : value;
  if (Object.is(value, -0)) return ["number", "-0"];
  if (typeof value === "number") return Number.isFinite(value) ? value : ["number", `${value}`];
  if (typeof value !== "object") return [typeof value];
  if (above.includes(value)) return ["cycle"];
  if (value instanceof Error) return ["error", value.name];
  if (value instanceof Date) return ["date", value.toISOString()];
  if (value instanceof Map) return ["map"];
  const inside = [...above, value];
  const child = (key) => {
    const descriptor = Object.getOwnPropertyDescriptor(value, key);
    return descriptor?.get ? ["accessor"] : describe(descriptor?.value, inside);
  };
  if (Array.isArray(value)) {
    const extra = Object.keys(value).some((key) => !/^\d+$/.test(key)) ? [["extra"]] : [];
    if (value.length > LONG) return ["long array", value.length, child(0), child(value.length - 1), ...extra];
    return ["array", ...Array.from(value, (_, index) => child(index)), ...extra];
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return ["instance"];
  if (Object.getOwnPropertySymbols(value).length) return ["symbol key"];
  const keys = Object.keys(value);
  if (keys.length > LONG) return ["long object", keys.length, keys[0], keys.at(-1)];
  return Object.fromEntries(keys.map((key) => [key, child(key)]));
};

// The world of one program

class StepError extends Error {
  constructor(name) {
    super(name);
    Object.defineProperty(this, "name", { value: name, enumerable: false });
  }
}

const isCount = (value, least) => Number.isInteger(value) && value >= least;
const isText = (value) => typeof value === "string" && value !== "";

const NO_DOCUMENT =
  /\["(undefined|function|symbol|symbol key|bigint|number","[NI]|date|map|instance|accessor|cycle|extra)/;

/** Whether a step's result is a document or undefined, by its description. */
const isFit = (described) => {
  if (Array.isArray(described) && described[0] === "undefined") return true;
  const root = Array.isArray(described) ? described[0] === "long object" : typeof described === "object";
  return root && described !== null && !NO_DOCUMENT.test(JSON.stringify(described));
};

class World {
  turn = 1;
  trace = [];
  later = [];
  timers = [];
  finished = new Map();
  executions = new Map();
  waits = 0;

  constructor(closed = []) {
    this.closed = new Set(closed);
    globalThis.fetch = (url, options) => this.journal(url, options);
    globalThis.setTimeout = (callback, milliseconds) => this.timers.push({ callback, milliseconds });
  }

  note(...entry) {
    this.trace.push([this.turn, ...entry]);
  }

  nextTurn() {
    return new Promise((resolve) => this.later.push(resolve));
  }

  // The journal

  async journal(url, { method, headers, body }) {
    const report = JSON.parse(body);
    const what = url.slice(ADDRESS.length + 1);
    const sound = method === "POST" && url.startsWith(ADDRESS) && headers["content-type"] === "application/json";
    const answer = sound && this.reports[what]?.call(this, report);
    if (what === "effect-start" || what === "effect-end" || what === "gate") await this.nextTurn();
    return answer ? Response.json(answer) : new Response(null, { status: 404 });
  }

  reports = {
    run({ instance }) {
      this.note("run", instance);
      return {};
    },
    mark({ label }) {
      this.note("mark", label);
      return {};
    },
    "effect-start"({ instance, name }) {
      this.note("effect-start", instance, name);
      const execution = (this.executions.get(name) ?? 0) + 1;
      this.executions.set(name, execution);
      return { execution };
    },
    "effect-end"({ instance, name }) {
      this.note("effect-end", instance, name);
      return {};
    },
    gate({ name }) {
      this.note("gate", name);
      return { open: !this.closed.has(name) };
    },
  };

  // The step

  get step() {
    return {
      do: (name, effect, ...policy) => {
        this.note("do", describe(name), describe(effect), ...policy.map((each) => describe(each)));
        return this.once(name, () => this.effect(name, effect, policy));
      },
      sleep: (name, seconds) => {
        this.note("sleep", describe(name), describe(seconds));
        return this.once(name, async () => {
          if (!isCount(seconds, 0)) throw new TypeError("seconds");
          await this.nextTurn();
        });
      },
      waitForEvent: (name, options) => {
        this.note("wait", describe(name), describe(options));
        return this.once(name, async () => {
          if (!isText(options.type) || !isCount(options.timeoutSeconds, 1)) throw new TypeError("options");
          const number = ++this.waits;
          await this.nextTurn();
          if (number % 4 === 3) throw new StepError("wait_timeout");
          return number % 4 === 0 ? undefined : { n: number };
        });
      },
    };
  }

  once(name, work) {
    if (!isText(name)) return Promise.reject(new TypeError("name"));
    if (!this.finished.has(name)) this.finished.set(name, Promise.resolve().then(work));
    return this.finished.get(name);
  }

  async effect(name, effect, policy) {
    const most = policy.length ? policy[0]?.maxAttempts : 1;
    if (typeof effect !== "function" || !isCount(most, 1)) throw new TypeError("effect or policy");
    for (let attempt = 1; attempt <= Math.min(most, MOST_ATTEMPTS); attempt++) {
      try {
        const result = await effect();
        const described = describe(result);
        this.note("result", name, described);
        if (isFit(described)) return result;
      } catch (error) {
        this.note("failure", name, describe(error));
      }
    }
    throw new StepError("step_failed");
  }

  // The caller's binding

  get binding() {
    const noted = (word, id) => async (...input) => this.note(word, id, ...input.map((each) => describe(each)));
    return {
      create: async (input) => {
        this.note("create", describe(input));
        return { id: input.id ?? "issued" };
      },
      get: async (id) => {
        this.note("get", describe(id));
        if (id === "unknown") throw new StepError("unknown_instance");
        const status = async () => ({ status: "complete", output: { of: id } });
        return { id, status, sendEvent: noted("sendEvent", id), terminate: noted("terminate", id) };
      },
    };
  }

  async quiet() {
    await macrotask();
    while (this.later.length) {
      this.turn += 1;
      for (const resolve of this.later.splice(0)) resolve();
      await macrotask();
    }
  }
}

// Jobs

let evaluations = 0;

/** The probe's module: one evaluation for all, or one of its own for a job that counts in it. */
const evaluated = (path, params) => {
  const counts = JSON.stringify(params ?? {}).includes("moduleCounter");
  return import(`${pathToFileURL(path)}${counts ? `?${++evaluations}` : ""}`);
};

const run = async (path, { params, version = "v1", closed, away = false }) => {
  const world = new World(closed);
  if (away) globalThis.fetch = () => Promise.reject(new TypeError("nobody listens"));
  const { Probe } = await evaluated(path, params);
  const probe = new Probe({ VERSION: version, JOURNAL: ADDRESS, PROBE: world.binding });
  let outcome = null;
  probe.run({ instanceId: "i", params }, world.step).then(
    (value) => (outcome = [world.turn, "returned", describe(value)]),
    (error) => (outcome = [world.turn, "threw", describe(error), error instanceof StepError]),
  );
  await world.quiet();
  for (let round = 0; round < TIMER_ROUNDS; round++) {
    world.closed.clear();
    world.turn += 1;
    for (const { callback } of world.timers.splice(0)) callback();
    await world.quiet();
  }
  return { trace: world.trace, outcome };
};

const call = async (path, { word, body, unbound = false }) => {
  const world = new World();
  const { default: worker } = await evaluated(path);
  const request = new Request(`http://caller.test/${word}`, { method: "POST", body });
  const response = await worker.fetch(request, unbound ? {} : { PROBE: world.binding });
  return { status: response.status, answer: response.ok ? await response.json() : null, trace: world.trace };
};

/** What each kind must be, of the value itself. */
const getter = (value) => typeof Object.getOwnPropertyDescriptor(value, "a")?.get === "function";
const hasPrototype = (value, prototype) => Object.getPrototypeOf(value) === prototype;
const isPlain = (value) => hasPrototype(value, Object.prototype);
const runs = (value) => {
  try {
    return value.a;
  } catch {
    return "threw";
  }
};
const KINDS = {
  accessor: (value) => getter(value) && runs(value) === 1,
  accessorThatThrows: (value) => getter(value) && runs(value) === "threw",
  toJSONFunction: (value) => isPlain(value) && Object.hasOwn(value, "toJSON") && JSON.stringify(value) === "{}",
  symbolKey: (value) => typeof Object.getOwnPropertySymbols(value)[0] === "symbol",
  symbolValue: (value) => typeof value === "symbol",
  function: (value) => typeof value === "function",
  bigint: (value) => typeof value === "bigint" && BigInt(Number(value)) !== value,
  nan: (value) => Number.isNaN(value),
  infinity: (value) => value === Infinity,
  date: (value) => hasPrototype(value, Date.prototype) && !Number.isNaN(value.getTime()),
  map: (value) => hasPrototype(value, Map.prototype) && value.size === 1,
  classInstance: (value) => !isPlain(value) && !hasPrototype(value, null) && Object.hasOwn(value, "a"),
  cycle: (value) => value.self === value,
  sharedObject: (value) => value.first === value.second && value.first.a === 1,
  hole: (value) => value.length === 3 && !Object.hasOwn(value, 1),
  arrayExtraProperty: (value) => hasPrototype(value, Array.prototype) && value.length === 1 && value.extra === 1,
  nestedUndefined: (value) => Object.hasOwn(value, "a") && value.a === undefined,
  nullPrototype: (value) => hasPrototype(value, null) && value.a === 1,
  ownProto: (value) => isPlain(value) && Object.hasOwn(value, "__proto__") && value.__proto__.a === 1,
  negativeZero: (value) => Object.is(value, -0),
  arrayRoot: (value) => Array.isArray(value),
  nullRoot: (value) => value === null,
  stringRoot: (value) => value === "text",
  properties1024: (value) => Object.keys(value).length === 1024,
  properties1025: (value) => Object.keys(value).length === 1025,
  loneSurrogateValue: (value) => value === "\ud800" && !value.isWellFormed(),
  loneSurrogateKey: (value) => Object.keys(value)[0] === "\ud800",
};

/** A kind at each place where a probe can put it: two of them fresh ones, and all that they are called. */
const oddity = async (path, { kind, whole }) => {
  const world = new World();
  const seen = [];
  const step = {
    do: async (_, effect, policy) => {
      seen.push(policy);
      for (let execution = 0; execution < 2; execution++) {
        const result = await effect();
        seen.push(whole ? result : result.oddity);
      }
    },
  };
  const { Probe, default: worker } = await evaluated(path);
  const form = { $oddity: kind };
  const program = [
    { do: "a", effect: { attempts: [{ oddity: kind }, { value: form }] }, retry: form },
    { set: "kept", to: [form] },
    { return: { $: "kept" } },
  ];
  const ended = new Probe({ VERSION: "v1", JOURNAL: ADDRESS }).run({ instanceId: "i", params: { program } }, step);
  await world.quiet();
  seen.push((await ended)[0]);
  const given = (input) => {
    seen.push(whole ? input.params : input.params.oddity);
    return { id: "i" };
  };
  const body = JSON.stringify({ params: form });
  const request = new Request("http://caller.test/create", { method: "POST", body });
  await worker.fetch(request, { PROBE: { create: async (input) => given(input) } });
  const objects = seen.filter((value) => typeof value === "object" && value !== null);
  return { sound: seen.map((value) => KINDS[kind](value)), fresh: new Set(objects).size === objects.length };
};

/** How many microtasks pass until `promise` has settled. */
const microtasks = async (promise) => {
  let settled = false;
  promise.then(() => (settled = true), () => (settled = true));
  let count = 0;
  for (; !settled; count++) await null;
  return count;
};

const HANDWRITTEN = {
  nothing: { program: [], run: async () => {} },
  flat: {
    program: [{ set: "o", to: {} }, { if: true, then: [{ mark: "m" }] }, { return: { $: "o" } }],
    run: async () => ({}),
  },
  unawaited: {
    program: [{ unawaited: { do: "a", effect: { value: {} } } }, { return: {} }],
    run: async (step) => {
      step.do("a", () => {}).catch(() => {});
      return {};
    },
  },
  guarded: {
    program: [
      { repeat: 2, ops: [{ try: [{ if: true, then: [{ do: "a", effect: {} }] }], catch: "e", finally: [] }] },
      { return: {} },
    ],
    run: async (step) => {
      for (let index = 0; index < 2; index++) {
        try {
          await step.do("a", {});
        } catch {
        } finally {
        }
      }
      return {};
    },
  },
};

/** Microtasks of a program and of the same code written by hand, and the calls made before `run` returned. */
const turns = async (path, { name, rejects }) => {
  const world = new World();
  const { Probe } = await evaluated(path);
  const calls = [];
  const step = {
    do: (called) => {
      calls.push(called);
      return rejects ? Promise.reject(new StepError("step_failed")) : Promise.resolve({});
    },
  };
  const { program, run: byHand } = HANDWRITTEN[name];
  const began = new Probe({ VERSION: "v1", JOURNAL: ADDRESS }).run({ instanceId: "i", params: { program } }, step);
  const atOnce = [...calls];
  const probe = await microtasks(began);
  await world.quiet();
  return { probe, byHand: await microtasks(byHand(step)), atOnce };
};

/** What a run did that was still computing when it was stopped; the more time, the slower the machine is. */
const spin = async (path) => {
  await Response.json({}).json(); // loads them now: what is stopped while it loads stays broken
  for (let milliseconds = 20; ; milliseconds *= 2) {
    const world = new World();
    const { Probe } = await evaluated(path);
    const program = [{ mark: "before" }, { spin: true }, { mark: "after" }];
    const probe = new Probe({ VERSION: "v1", JOURNAL: ADDRESS });
    globalThis.spinning = () => void probe.run({ instanceId: "i", params: { program } }, world.step);
    try {
      runInThisContext("spinning()", { timeout: milliseconds });
      return "came back";
    } catch (error) {
      if (error.code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
    }
    await world.quiet();
    if (world.trace.length > 1) return world.trace.map(([, ...entry]) => entry);
  }
};

/** What the module exports, and what can be done with it. */
const exported = async (path) => {
  const { Probe, WithoutRun, NotConstructible, default: worker, ...others } = await evaluated(path);
  const constructs = (made) => {
    try {
      return typeof new made({}) === "object";
    } catch {
      return false;
    }
  };
  const run = (made) => typeof made.prototype?.run === "function";
  return {
    Probe: [constructs(Probe), run(Probe)],
    WithoutRun: [constructs(WithoutRun), run(WithoutRun)],
    NotConstructible: [constructs(NotConstructible), run(NotConstructible)],
    default: Object.keys(worker),
    others: Object.keys(others),
  };
};

const JOBS = { run, call, oddity, turns, spin, exported };

const jobs = JSON.parse(readFileSync(0, "utf8"));
const answers = [];
for (const { job, ...details } of jobs) answers.push(await JOBS[job](process.argv[2], details));
process.stdout.write(JSON.stringify(answers));
