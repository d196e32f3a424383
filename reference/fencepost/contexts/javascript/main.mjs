/**
 * The program that a context's process runs: `node main.mjs DESCRIPTOR`.
 *
 * It is prepared before it knows what for, and waits. The first message says what it is to be: a context of
 * a workflow, a Worker that answers requests, or a look at what a module exports. From then on the parent
 * alone gives turns. In a turn, jobs run one after the other, each with the microtasks behind it; when all
 * has drained, one line says what the turn came to, and the process stands in a read until the next
 * instruction. So nothing moves while the parent does not look, and a context that is not to go on simply
 * hears nothing more.
 */

import { registerHooks } from "node:module";
import { SourceTextModule } from "node:vm";
import { answered } from "./answers.mjs";
import { bindingOf } from "./binding.mjs";
import { ask, open, sound, tell } from "./channel.mjs";
import { limits } from "./documents.mjs";
import { contentIn, described, Request } from "./fetch.mjs";
import { complain, isComputing, settleGlobals } from "./globals.mjs";
import {
  apply, defineProperty, hasOwn, list, own, ownKeys, reflectGet, stringify, TypeErrorClass,
} from "./intrinsics.mjs";
import { follow, Outcome } from "./promises.mjs";
import { fire, firing, untilNext } from "./timers.mjs";
import * as workflow from "./workflow.mjs";

const { setImmediate, setTimeout } = globalThis;
const { setUncaughtExceptionCaptureCallback } = process;
const POLL_MILLISECONDS = 1;

const DESCRIPTION = { writable: true, enumerable: true, configurable: true };

/** `env` with exactly the declared keys (ABI-2). */
const environment = (declared) => {
  const env = {};
  for (let index = 0; index < declared.length; index++) {
    const { key } = declared[index];
    const value = own(declared[index], "binding") === true ? bindingOf(key) : own(declared[index], "value");
    defineProperty(env, key, { __proto__: null, ...DESCRIPTION, value });
  }
  return env;
};

// The module

const refuse = () => { throw new TypeErrorClass("a module has no imports here; bundle what it needs"); };

const module = new Outcome();
let evaluated;

/** Evaluates the application's module; `module` says how that ended. */
const evaluate = (source, name) => {
  try {
    evaluated = new SourceTextModule(source, {
      __proto__: null, identifier: name, importModuleDynamically: refuse, initializeImportMeta: () => {},
    });
    if (evaluated.moduleRequests.length > 0) refuse();
    evaluated.linkRequests([]);
    evaluated.instantiate();
    follow(evaluated.evaluate(), module);
  } catch (error) {
    module.settled = true;
    module.failed = true;
    module.value = error;
  }
};

const exported = (name) => reflectGet(evaluated.namespace, name);

const attempt = (use, otherwise) => {
  try {
    return use();
  } catch (error) {
    return otherwise(error);
  }
};

// What a process can be: each gives what a turn came to, as the members of a message

/** A context: once its module is evaluated, its class is constructed and run. */
const asWorkflow = ({ class: name, env, instanceId, params }) => {
  let begun = false;
  return () => {
    if (!module.settled) return workflow.signal();
    if (begun) return workflow.signal();
    begun = true;
    const found = module.failed ? undefined : attempt(() => exported(name), () => undefined);
    if (!workflow.isWorkflow(found)) {
      workflow.breakDown(module.value); // ABI-5
      complain(module.failed ? module.value : `the module exports no class ${name} with a callable run`);
      return workflow.signal();
    }
    jobs[jobs.length] = () => workflow.start(found, environment(env), instanceId, params);
    return null;
  };
};

/** A Worker: each request is answered by `fetch` of the module's default export. */
const asWorker = ({ env }) => {
  const open = list();
  const bound = environment(env);

  const begin = (given) => {
    const outcome = new Outcome();
    const { request, method, url, headers } = given;
    try {
      const face = exported("default");
      const asked = new Request(url, { method, headers, body: contentIn(given) });
      follow(apply(reflectGet(face, "fetch"), face, [asked, bound]), outcome);
    } catch (error) {
      outcome.settled = true;
      outcome.failed = true;
      outcome.value = error;
    }
    open[open.length] = { request, outcome };
  };
  accept = begin;

  return () => {
    for (let index = 0; index < open.length; index++) {
      const { request, outcome } = open[index];
      if (!outcome.settled || request === 0) continue;
      open[index] = { request: 0, outcome };
      const { failed, value } = outcome;
      const members = failed
        ? `"failed":${stringify(`${attempt(() => value.message, () => value)}`)}`
        : `"status":${value.status},${described(value)}`;
      tell(`{"response":${request},${members}}`);
    }
    return module.settled && module.failed ? '"broken":true' : '"quiet":true';
  };
};

/** A look at a module: which of its exports are Workflow classes. */
const asInspection = () => () => {
  if (!module.settled) return '"quiet":true';
  if (module.failed) return `"broken":true`;
  const names = ownKeys(evaluated.namespace);
  let members = "";
  for (let index = 0; index < names.length; index++) {
    const name = names[index];
    if (typeof name !== "string") continue;
    const fit = attempt(() => workflow.isWorkflow(exported(name)), () => false);
    members += `${members === "" ? "" : ","}${stringify(name)}:${fit}`;
  }
  return `"exports":{${members}}`;
};

const PURPOSES = { __proto__: null, workflow: asWorkflow, worker: asWorker, inspection: asInspection };

// Turns

let jobs = list();
let next = 0;
let ended;
let accept = () => {};

const queue = (items, use) => {
  if (items === undefined) return;
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    jobs[jobs.length] = () => use(item);
  }
};

/** Queues what an instruction says, in this order: answers before timers, timers before new requests. */
const take = (instruction) => {
  if (hasOwn(instruction, "dead")) workflow.die();
  if (hasOwn(instruction, "reply")) jobs[jobs.length] = () => workflow.deliver(instruction.reply);
  jobs[jobs.length] = workflow.proceed;
  queue(own(instruction, "answers"), answered);
  if (hasOwn(instruction, "fire")) queue(firing(instruction.fire === "all"), fire);
  queue(own(instruction, "requests"), (request) => accept(request));
};

/** One job, or the end of the turn. Runs on a fresh stack, with every microtask drained. */
const loop = () => {
  sound();
  if (next < jobs.length) {
    const job = jobs[next];
    next += 1;
    setImmediate(loop);
    job();
    return;
  }
  if (isComputing()) {
    setTimeout(loop, POLL_MILLISECONDS);
    return;
  }
  jobs = list();
  next = 0;
  const members = ended();
  if (members !== null) {
    const timer = untilNext();
    ask(`{${members},"timer":${timer === undefined ? "null" : timer}}`, take);
  }
  setImmediate(loop);
};

const main = (start) => {
  limits.bytes = start.limits.bytes;
  limits.properties = start.limits.properties;
  ended = PURPOSES[start.purpose](start);
  jobs[0] = () => evaluate(start.source, start.name);
  setImmediate(loop);
};

open(+process.argv[2]);
registerHooks({ resolve: refuse });
apply(setUncaughtExceptionCaptureCallback, process, [complain]);
settleGlobals();
ask('{"ready":true}', main);
