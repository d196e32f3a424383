/**
 * One context of a workflow: the class, its `run`, the step object, effects, and what a turn comes to.
 *
 * A step call asks the machine at the instant of the call, since overlap is judged there; what follows from
 * it waits until the turn has drained. `signal` says then, as one line for the parent, what the turn came to:
 * an effect is to begin or has begun, something is proposed, or all is quiet. The parent's answer to a
 * proposal comes with its next instruction, as `deliver`. A context that was fenced or stopped in the middle
 * of a call never comes out of it; one that was fenced afterwards is told so with `die`, if it has to go on
 * at all: then its step calls give promises that nobody settles (STP-17).
 */

import { record, scalar } from "./arguments.mjs";
import { ask, sound } from "./channel.mjs";
import { decode, encode, told } from "./documents.mjs";
import {
  apply, construct, defineProperty, ErrorClass, freeze, hasOwn, isObject, ObjectClass, own, reflectGet, stringify,
  TypeErrorClass, WeakMapClass, weakMapGet, weakMapSet,
} from "./intrinsics.mjs";
import { Deferred, follow, Outcome } from "./promises.mjs";

/** The step call that is open in this context. */
class Call {
  name;
  deferred;
  effect;
  due = false;
  running = undefined;
  began = false;
  proposed = false;

  constructor(name, deferred, effect) {
    this.name = name;
    this.deferred = deferred;
    this.effect = effect;
  }
}

const QUIET = '"quiet":true';
const MORE = '"more":true';

/** The errors that this runtime has made, and their names; nothing that looks like one is in it (ERR-2). */
const genuine = new WeakMapClass();

const run = new Outcome();
let call = null;
let dead = false;
let broken = false;
let reported = false;

const stepError = (name) => {
  const error = new ErrorClass(name);
  defineProperty(error, "name", {
    __proto__: null, value: name, writable: false, enumerable: false, configurable: false, // ERR-1
  });
  weakMapSet(genuine, error, name);
  return error;
};

const settle = (deferred, reply) => {
  if (hasOwn(reply, "failed")) deferred.reject(stepError(reply.failed));
  else deferred.resolve(decode(reply.recorded)); // DOC-9: a fresh copy of the record
};

/** A step call: the machine is asked now, and answers what is to become of it (STP-2 to STP-9). */
const begin = (kind, name, described, effect) => {
  sound();
  const deferred = new Deferred();
  if (dead) return deferred.promise; // STP-17
  const message = `{"begin":"${kind}","name":${scalar(name)},"arguments":${described}}`;
  ask(message, (reply) => {
    if (hasOwn(reply, "badArgument")) deferred.reject(new TypeErrorClass(reply.badArgument)); // STP-4
    else if (hasOwn(reply, "recorded") || hasOwn(reply, "failed")) settle(deferred, reply); // STP-3
    else call = new Call(name, deferred, hasOwn(reply, "run") ? effect : undefined);
  });
  return deferred.promise;
};

/** The three operations, and nothing else (STP-1). */
const step = freeze({
  do(name, effect, retryPolicy = undefined) {
    const retry = retryPolicy === undefined ? "" : `,"retry":${record(retryPolicy)}`;
    return begin("do", name, `{"effect":${typeof effect === "function"}${retry}}`, effect);
  },
  sleep(name, seconds) {
    return begin("sleep", name, `{"seconds":${scalar(seconds)}}`, undefined);
  },
  waitForEvent(name, options) {
    return begin("wait", name, record(options), undefined);
  },
});
freeze(step.do);
freeze(step.sleep);
freeze(step.waitForEvent);

/** Calls something of the application's; how it ends is in the outcome. */
const called = (target, self, given) => {
  const outcome = new Outcome();
  try {
    follow(apply(target, self, given), outcome);
  } catch (error) {
    outcome.settled = true;
    outcome.failed = true;
    outcome.value = error;
  }
  return outcome;
};

/** Whether an export is a Workflow class: constructible, with a callable `run` on its prototype (ABI-1). */
export const isWorkflow = (exported) => {
  try {
    construct(ObjectClass, [], exported); // tells whether it is a constructor, and runs nothing of it
    return typeof reflectGet(exported.prototype, "run") === "function";
  } catch {
    return false;
  }
};

/** The module could not be evaluated, or has no such class (ABI-5). */
export const breakDown = (error) => {
  broken = true;
  run.settled = true;
  run.failed = true;
  run.value = error;
};

/** Constructs the class and calls its `run`, once (ABI-2). */
export const start = (exported, env, instanceId, params) => {
  const event = params === null ? { instanceId } : { instanceId, params: decode(params) };
  try {
    const instance = construct(exported, [env]); // ABI-4: a throwing constructor is a throwing run
    follow(apply(reflectGet(instance, "run"), instance, [event, step]), run);
  } catch (error) {
    run.settled = true;
    run.failed = true;
    run.value = error;
  }
};

const settlement = () => {
  const provenance = run.failed && isObject(run.value) ? weakMapGet(genuine, run.value) : undefined;
  return `"settle":${run.failed ? "null" : told(encode(run.value))},"threw":${run.failed},` +
    `"provenance":${provenance === undefined ? "null" : stringify(provenance)},"broken":${broken}`;
};

/** What this turn came to, as the members of a message. */
export const signal = () => {
  if (dead) return QUIET;
  if (run.settled && !reported) {
    reported = true;
    return settlement();
  }
  if (call === null || call.proposed) return QUIET;
  if (call.effect === undefined) {
    call.proposed = true;
    return `"park":${stringify(call.name)}`;
  }
  if (call.running === undefined) {
    call.due = true;
    return MORE;
  }
  if (!call.began) {
    call.began = true;
    return `"began":${stringify(call.name)}`;
  }
  if (!call.running.settled) return QUIET;
  call.proposed = true;
  const { failed, value } = call.running; // a genuine Host error is a failure like any other (ERR-6)
  return `"commit":${stringify(call.name)},"result":${failed ? "null" : told(encode(value))},"failed":${failed}`;
};

/** Begins the effect that was announced, now that the turn of its call has drained (STP-6). */
export const proceed = () => {
  if (dead || call === null || !call.due || call.running !== undefined) return;
  call.running = called(call.effect, undefined, []);
};

/** Takes the parent's answer to the last proposal. */
export const deliver = (reply) => {
  if (call === null) return;
  const { deferred } = call;
  call = null;
  const refused = own(reply, "badArgument");
  if (refused === undefined) settle(deferred, reply);
  else deferred.reject(new TypeErrorClass(refused));
};

/** Fenced or stopped: nothing that awaits a step goes on (STP-6). */
export const die = () => { dead = true; };
