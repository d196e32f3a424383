/**
 * The probe in JavaScript: one Workflow class that does what a scenario's program says, and knows no expected
 * answer; and a Worker that makes a caller's calls, for Hosts that are called from inside only.
 *
 * One module without imports. Beside the language it needs `fetch`, `Request`, `Response` and `setTimeout`.
 *
 * **Turns are those of code written by hand.** Operations are generators, which `drive` runs as an async
 * function runs: a `yield` is an `await`, and there is one only where a program awaits something. What is
 * done at once costs no turn of the microtask queue, and a step is called the moment that its operation is
 * reached, also under `together`, `race` and `unawaited`. The promise of a step is awaited as it is.
 *
 * **Documents are built, never parsed.** A VALUE is JSON in which a one-key object with a `$` stands for what
 * JSON cannot say, or for what is known only later. Each building gives fresh objects; variables are handed
 * out as they are, so that a program can mutate what it was given.
 *
 * `env` holds `VERSION`; `JOURNAL`, the address to report to; and `PROBE`, the caller's binding, if bound.
 */

// Awaiting

/** Runs a generator as an async function: each `yield` is an `await`, and the first part runs at once. */
const drive = async (routine) => {
  let step = routine.next();
  while (!step.done) {
    let proceed;
    try {
      const value = await step.value;
      proceed = () => routine.next(value);
    } catch (error) {
      proceed = () => routine.throw(error);
    }
    step = proceed();
  }
  return step.value;
};

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const ignored = () => {};

// The journal

const POLL_MILLISECONDS = 10;

/** What effects report to, and what holds them back. A report is sent before its call returns. */
class Journal {
  constructor(address) {
    this.address = address;
  }

  /** `run` was called in a context of this instance; nobody waits for the answer. */
  run(instance) {
    this.ask("run", { instance }).catch(ignored);
  }

  /** The program passed this label, outside of any step; nobody waits for the answer. */
  mark(label) {
    this.ask("mark", { label }).catch(ignored);
  }

  /** Marks `label` again and again, from a timer that floats beside the program. */
  tick(label, milliseconds) {
    setTimeout(() => {
      this.mark(label);
      this.tick(label, milliseconds);
    }, milliseconds);
  }

  /** An effect began; gives the number of this execution, from 1, for that step and instance. */
  async effectStart(instance, name) {
    return (await this.ask("effect-start", { instance, name })).execution;
  }

  /** An effect is about to settle. */
  effectEnd(instance, name) {
    return this.ask("effect-end", { instance, name });
  }

  /** Stands at a gate until it is released. */
  async gate(name) {
    while (!(await this.ask("gate", { name })).open) await pause(POLL_MILLISECONDS);
  }

  async ask(what, report) {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(report);
    const response = await fetch(`${this.address}/${what}`, { method: "POST", headers, body });
    if (!response.ok) throw new Error(`the journal answered ${response.status} to ${what}`);
    return response.json();
  }
}

// Oddities: values that are no documents, or only just

class Plain { a = 1; }

const cycle = () => {
  const outer = { a: 1 };
  return Object.assign(outer, { self: outer });
};

const shared = (inner) => ({ first: inner, second: inner });

const properties = (count) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, 0]));

/** KIND -> a fresh value. */
const ODDITIES = {
  accessor: () => ({ get a() { return 1; } }),
  accessorThatThrows: () => ({ get a() { throw new Error("a getter ran (DOC-6)"); } }),
  toJSONFunction: () => ({ toJSON: () => ({}) }),
  symbolKey: () => ({ [Symbol("key")]: 1 }),
  symbolValue: () => Symbol("value"),
  function: () => () => undefined,
  bigint: () => 2n ** 64n + 1n,
  nan: () => NaN,
  infinity: () => Infinity,
  date: () => new Date(Date.UTC(2000, 0, 1)),
  map: () => new Map([["a", 1]]),
  classInstance: () => new Plain(),
  cycle,
  sharedObject: () => shared({ a: 1 }),
  hole: () => [1, , 3],
  arrayExtraProperty: () => Object.assign([1], { extra: 1 }),
  nestedUndefined: () => ({ a: undefined }),
  nullPrototype: () => Object.assign(Object.create(null), { a: 1 }),
  ownProto: () => ({ ["__proto__"]: { a: 1 } }),
  negativeZero: () => -0,
  arrayRoot: () => [1],
  nullRoot: () => null,
  stringRoot: () => "text",
  properties1024: () => properties(1024),
  properties1025: () => properties(1025),
  loneSurrogateValue: () => "\ud800",
  loneSurrogateKey: () => ({ "\ud800": 1 }),
};

/** The kinds that say something about the root itself. */
const WHOLE = new Set(["arrayRoot", "nullRoot", "stringRoot", "properties1024", "properties1025"]);

/** An oddity as a whole document: itself where it speaks of the root, else under the key `oddity`. */
const atRoot = (kind) => (WHOLE.has(kind) ? ODDITIES[kind]() : { oddity: ODDITIES[kind]() });

// VALUEs

const isObject = (value) => typeof value === "object" && value !== null;

/** Whether it is an Error, of whichever realm. */
const isError = (value) =>
  value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";

/** The word of an operation, effect or VALUE that `table` knows, or undefined. */
const wordOf = (phrase, table) =>
  isObject(phrase) ? Object.keys(phrase).find((word) => Object.hasOwn(table, word)) : undefined;

/** The same JSON in fresh objects, with `each` applied to every child; an own `__proto__` stays one. */
const rebuilt = (value, each) => {
  if (Array.isArray(value)) return value.map((child) => each(child));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, each(child)]));
};

const copied = (value) => rebuilt(value, copied);

/** A document of exactly `count` canonical bytes: 2, or 8 and more. */
const sized = (count) => (count === "{}".length ? {} : { x: "x".repeat(count - '{"x":""}'.length) });

const OF_ERRORS = new Set(["name", "message", "cause"]); // may be inherited

const member = (held, key) => {
  if (held === undefined || held === null) return undefined;
  return Object.hasOwn(held, key) || (OF_ERRORS.has(key) && isError(held)) ? held[key] : undefined;
};

/** What `VAR` or `VAR.path` holds; undefined where there is nothing. */
const read = (path, variables) => path.split(".").reduce(member, variables);

const reported = (error) => (isError(error) ? { name: error.name, message: error.message } : undefined);

/** The property descriptor of an error's own `name`, or undefined. A getter counts as the value that it gives. */
const described = (error) => {
  if (!isObject(error)) return undefined;
  const found = Object.getOwnPropertyDescriptor(error, "name");
  if (found === undefined || Object.hasOwn(found, "value")) return found;
  const { set, enumerable, configurable } = found;
  return { value: error.name, writable: set !== undefined, enumerable, configurable };
};

const withoutProgram = (params) => {
  if (!isObject(params)) return params;
  const { program, ...rest } = params;
  return rest;
};

/** `$` word -> (argument, variables) -> live value. */
const FORMS = {
  $: read,
  $error: (path, variables) => reported(read(path, variables)),
  $describe: (path, variables) => described(read(path, variables)),
  $isUndefined: (path, variables) => read(path, variables) === undefined,
  $params: (_, variables) => withoutProgram(variables.$params),
  $literal: copied,
  $oddity: (kind) => ODDITIES[kind](),
  $repeat: ([text, count]) => text.repeat(count),
  $array: ([value, count], variables) => Array.from({ length: count }, () => build(value, variables)),
  $size: sized,
  $string: (units) => units.map((unit) => String.fromCharCode(unit)).join(""),
};

const formOf = (value) =>
  isObject(value) && Object.keys(value).length === 1 ? wordOf(value, FORMS) : undefined;

/** A live value. */
const build = (value, variables) => {
  const word = formOf(value);
  if (word !== undefined) return FORMS[word](value[word], variables);
  return rebuilt(value, (child) => build(child, variables));
};

/** A live root: an oddity is put where a root can carry it. */
const document = (value, variables) =>
  formOf(value) === "$oddity" ? atRoot(value.$oddity) : build(value, variables);

/** `text` with each `${VAR}` replaced by what the variable holds. */
const interpolated = (text, variables) =>
  text.replace(/\$\{([^}]*)\}/g, (_, path) => String(read(path, variables)));

/** Assigns as the language does; a new key is always a property of the object itself. */
const put = (target, key, value) => {
  if (Object.hasOwn(target, key)) target[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
};

// Operations: one whose block returned gives `{ value }`, every other nothing

/** Calls a step and keeps what comes of it; a call that throws has failed as one that rejects. */
const step = (call) =>
  function* (run, operation) {
    let result;
    try {
      result = yield call(run, operation);
    } catch (error) {
      if (operation.catch === undefined) throw error;
      run.variables[operation.catch] = error;
      return;
    }
    if (operation.as !== undefined) run.variables[operation.as] = result;
  };

let counted = 0; // by `moduleCounter`, since this module was evaluated

const OPERATIONS = {
  do: step((run, operation) => {
    const name = run.name(operation.do);
    const effect = run.effect(operation.effect, name);
    const policy = "retry" in operation ? [run.value(operation.retry)] : [];
    return run.step.do(name, effect, ...policy);
  }),
  sleep: step((run, { sleep, seconds }) => run.step.sleep(run.name(sleep), run.value(seconds))),
  wait: step((run, { wait, type, timeoutSeconds }) => {
    const options = { type: run.value(type), timeoutSeconds: run.value(timeoutSeconds) };
    return run.step.waitForEvent(run.name(wait), options);
  }),

  *return(run, { return: value }) { return { value: document(value, run.variables) }; },
  *throw(run, { throw: message }) { throw new Error(run.value(message)); },
  *rethrow(run, { rethrow }) { throw run.error(rethrow); },
  *throwCopyOf(run, { throwCopyOf }) {
    const { name, message } = run.error(throwCopyOf);
    throw Object.assign(new Error(message), { name });
  },
  *throwCauseOf(run, { throwCauseOf }) { throw new Error("wrapped", { cause: run.error(throwCauseOf) }); },
  *try(run, { try: body, catch: variable, handler, finally: last = [] }) {
    try {
      return yield* run.block(body);
    } catch (error) {
      if (variable === undefined && handler === undefined) throw error;
      if (variable !== undefined) run.variables[variable] = error;
      return yield* run.block(handler ?? []);
    } finally {
      const over = yield* run.block(last);
      if (over !== undefined) return over;
    }
  },

  *together(run, { together }) { yield Promise.all(together.map((each) => run.launch(each))); },
  *race(run, { race }) { yield Promise.race(race.map((each) => run.launch(each))); },
  *unawaited(run, { unawaited }) { run.launch(unawaited).catch(ignored); },

  *repeat(run, { repeat, index: variable, ops }) {
    const count = run.value(repeat);
    for (let index = 0; index < count; index++) {
      if (variable !== undefined) run.variables[variable] = index;
      const over = yield* run.block(ops);
      if (over !== undefined) return over;
    }
  },
  *if(run, { if: condition, then = [], else: otherwise = [] }) {
    return yield* run.block(run.value(condition) ? then : otherwise);
  },
  *set(run, { set: path, to }) {
    const value = run.value(to);
    const dot = path.lastIndexOf(".");
    put(dot < 0 ? run.variables : read(path.slice(0, dot), run.variables), path.slice(dot + 1), value);
  },
  *moduleCounter(run, { moduleCounter }) { run.variables[moduleCounter] = ++counted; },
  *instanceCounter(run, { instanceCounter }) { run.variables[instanceCounter] = ++run.probe.counted; },

  *mark(run, { mark }) { run.journal.mark(mark); },
  *spin() { for (;;); },
  *ticker(run, { ticker, everyMs }) { run.journal.tick(ticker, everyMs); },
  *call(run, { call }) {
    const handle = yield run.probe.env.PROBE.get(run.instance);
    yield handle[call]();
  },
};

/** What an effect does between its two reports; gives the step's result. */
const EFFECTS = {
  *value(run, { value }) { return document(value, run.variables); },
  *undefined() {},
  *throw(run, { throw: message }) { throw new Error(run.value(message)); },
  *gate(run, { gate, then = { undefined: true } }, execution) {
    yield run.journal.gate(gate);
    return yield* run.perform(then, execution);
  },
  *attempts(run, { attempts }, execution) {
    return yield* run.perform(attempts[Math.min(execution, attempts.length) - 1], execution);
  },
  *nested(run, { nested }) { yield* run.operate(nested); },
  *ticking(run, { ticking, everyMs }) {
    run.journal.tick(ticking, everyMs);
    yield new Promise(ignored);
  },
  *spin() { for (;;); },
  *oddity(run, { oddity }) { return atRoot(oddity); },
};

/** One call of `run`: the program's variables, and what its operations work with. */
class Run {
  constructor(probe, event, step) {
    this.probe = probe;
    this.step = step;
    this.instance = event.instanceId;
    this.journal = new Journal(probe.env.JOURNAL);
    this.variables = Object.assign(Object.create(null), { $params: event.params });
  }

  /** The program that this Version holds for the instance; gives the output. */
  *main() {
    this.journal.run(this.instance);
    const program = this.variables.$params?.program ?? [];
    const over = yield* this.block(Array.isArray(program) ? program : program[this.probe.env.VERSION]);
    return over?.value;
  }

  *block(operations) {
    for (const operation of operations) {
      const over = yield* this.operate(operation);
      if (over !== undefined) return over;
    }
  }

  *operate(operation) {
    const word = wordOf(operation, OPERATIONS);
    if (word === undefined) throw new Error(`the probe knows no operation ${Object.keys(operation)}`);
    return yield* OPERATIONS[word](this, operation);
  }

  /** Begins an operation beside the others. */
  launch(operation) { return drive(this.operate(operation)); }

  /** A zero-argument callable; what is no EFFECT is passed on as the value that it is. */
  effect(effect, name) {
    return wordOf(effect, EFFECTS) ? () => drive(this.execute(effect, name)) : this.value(effect);
  }

  *execute(effect, name) {
    const execution = yield this.journal.effectStart(this.instance, name);
    try {
      return yield* this.perform(effect, execution);
    } finally {
      yield this.journal.effectEnd(this.instance, name);
    }
  }

  *perform(effect, execution) {
    return yield* EFFECTS[wordOf(effect, EFFECTS)](this, effect, execution);
  }

  value(value) { return build(value, this.variables); }

  name(name) {
    return typeof name === "string" ? interpolated(name, this.variables) : this.value(name);
  }

  error(path) {
    const held = read(path, this.variables);
    return isError(held) ? held : new Error(`${path} holds no error`);
  }
}

/** The Workflow class. */
export class Probe {
  constructor(env) {
    this.env = env;
    this.counted = 0; // by `instanceCounter`
  }

  run(event, step) {
    return drive(new Run(this, event, step).main());
  }
}

/** A class that is no Workflow: its prototype has no `run`. */
export class WithoutRun {}

/** Something that cannot be constructed. */
export const NotConstructible = () => undefined;

// The caller's Worker

/** Call -> (binding, what the request gives) -> what is answered. */
const CALLS = {
  create: async (binding, input) => (await binding.create(input)).id,
  get: async (binding, { id }) => (await binding.get(id)).id,
  status: async (binding, { id }) => (await binding.get(id)).status(),
  sendEvent: async (binding, { id, ...input }) => (await binding.get(id)).sendEvent(input),
  terminate: async (binding, { id }) => (await binding.get(id)).terminate(),
};

const rejection = (error) => {
  const { name, message } = reported(error) ?? { name: "no Error", message: error };
  return { error: { name: String(name), message: String(message) } };
};

const DOCUMENTS = new Set(["params", "payload"]);

/** What a request gives, as live values; a key that it does not give is not there. */
const given = (request) => {
  const live = ([key, value]) => [key, (DOCUMENTS.has(key) ? document : build)(value, {})];
  return Object.fromEntries(Object.entries(request).map(live));
};

export default {
  /** POST /CALL with a JSON object of VALUEs: `{ok}`, or `{error: {name, message}}` for a rejection. */
  async fetch(request, env) {
    const call = /\/(\w+)$/.exec(request.url)?.[1];
    if (!Object.hasOwn(CALLS, call) || env.PROBE === undefined) return new Response(null, { status: 404 });
    const called = CALLS[call](env.PROBE, given(await request.json()));
    return Response.json(await called.then((value) => ({ ok: value ?? null }), rejection));
  },
};
