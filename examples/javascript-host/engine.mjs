/**
 * The engine: who owns which instance, and when what was decided may be seen.
 *
 * It moves only while it is let run (`settle`), but for what a caller's call or an instrument does itself. It
 * then handles what contexts report, stops those that have lost their token, publishes an end when the last
 * stop is proven, and starts contexts for whatever can go on, until all of them are quiet.
 *
 * What is in `store` survives a restart. All else is the process: owners, and calls in flight.
 */

import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";

import { HostError } from "./binding.mjs";
import { Owner } from "./owner.mjs";
import * as rules from "./rules.mjs";

export const LEASE_SECONDS = 30;

const SILENCE_MILLISECONDS = 100; // after which a context that is not quiet is looked at

export class Engine {
  /** `world` is what lies outside: the clock, weights, traps, what contexts load, owners that no stop reaches. */
  constructor(world, store = new Map()) {
    this.world = world;
    this.store = store; // id -> instance
    this.owners = new Set(world.survivors);
    this.waiting = new Map(); // instance -> those who wait for its end
    this.underway = 0; // requests made for contexts
    this.notify = () => {};
    for (const owner of this.owners) {
      owner.instance = store.get(owner.instance.id);
      owner.notify = () => this.notify();
    }
    for (const instance of store.values()) {
      instance.owner = null; // lost with the process
      instance.unproven = new Set(this.#ownersOf(instance).map(({ token }) => token));
      this.#publish(instance);
    }
  }

  // The caller's calls

  create({ id = randomUUID(), params }) {
    if (this.#find(id) !== undefined) throw new HostError("instance_exists", `${id} is taken`); // BND-3
    this.store.set(id, rules.newInstance(id, params, this.world.now));
    return id;
  }

  get({ id }) {
    return this.#held(id).id;
  }

  status({ id }) {
    return rules.statusOf(this.#held(id));
  }

  sendEvent({ id, type, payload }) {
    const instance = this.#held(id);
    const hasEnded = instance.outcome !== null || rules.isOver(instance, this.world.now); // LIF-5
    if (hasEnded) throw new HostError("instance_terminal", `${id} has ended`); // EVT-2
    const isAccepted = rules.accept(instance, type, payload, this.world.now); // stored before it succeeds (EVT-1)
    if (!isAccepted) throw new HostError("event_queue_full", `${id} holds too many events`); // EVT-3
  }

  async terminate({ id }) {
    const instance = this.#held(id);
    rules.decide(instance, { status: "terminated" }); // an outcome that is decided stays (TRM-3)
    this.#stopRetired(instance);
    if (instance.ended !== null) return;
    const answer = Promise.withResolvers();
    this.waiting.set(instance, [...(this.waiting.get(instance) ?? []), answer]); // TRM-5
    await answer.promise; // not before the end is published (TRM-1, TRM-2)
  }

  /** The instance of an id that is held; whoever need not be kept is forgotten (RET-2). */
  #find(id) {
    const instance = this.store.get(id);
    if (instance !== undefined && rules.isForgettable(instance, this.world.now)) this.store.delete(id);
    return this.store.get(id);
  }

  #held(id) {
    const instance = this.#find(id);
    if (instance === undefined) throw new HostError("unknown_instance", "there is no such instance"); // BND-4
    return instance;
  }

  // Letting it run

  /** Until only time or input could change anything; every floating timer fires once. */
  async settle() {
    await this.#run();
    for (const owner of this.owners) if (!owner.isFrozen) owner.post({ word: "tick" });
    await this.#run();
  }

  async #run() {
    for (;;) {
      await turn();
      for (const owner of this.owners) this.#handle(owner);
      for (const instance of this.store.values()) this.#tend(instance);
      if (this.underway === 0 && [...this.owners].every((owner) => owner.isQuiet)) return;
      await this.#news();
    }
  }

  /** Waits for something new; after a silence, contexts are looked at that may compute for ever. */
  async #news() {
    const isNews = await new Promise((resolve) => {
      const silence = setTimeout(resolve, SILENCE_MILLISECONDS, false);
      this.notify = () => {
        clearTimeout(silence);
        resolve(true);
      };
    });
    if (!isNews) await Promise.all([...this.owners].filter((owner) => !owner.isQuiet).map((owner) => owner.measure()));
  }

  /** Does what is due for an instance. */
  #tend(instance) {
    const { now, isHoldingWakes } = this.world;
    if (!isHoldingWakes) this.#expire(instance); // LIF-1
    for (const owner of this.#ownersOf(instance)) {
      if (owner.token === instance.owner && owner.isLost(now)) instance.owner = null;
    }
    this.#stopRetired(instance);
    if (instance.outcome !== null) return;
    if (instance.parked !== null && !isHoldingWakes) rules.wake(instance, now);
    if (instance.parked === null && instance.owner === null) this.#start(instance);
  }

  /** Starts a context, on a Version drawn by the weights of this moment (CTX-2). */
  #start(instance) {
    const version = drawn(this.world.weights);
    if (version === undefined) return;
    instance.tokens += 1;
    instance.owner = instance.tokens; // whatever an older one commits is refused from here on (PUB-2)
    instance.unproven.add(instance.owner);
    const { id: instanceId, params } = instance;
    const beginning = { word: "begin", ...this.world.application(version), instanceId, params };
    this.owners.add(new Owner(instance, instance.owner, beginning, () => this.notify()));
  }

  #expire(instance) {
    if (!rules.isOver(instance, this.world.now)) return;
    rules.decide(instance, rules.failed("lifetime_exceeded"));
    this.#stopRetired(instance);
  }

  // Stopping, and what can be seen only then

  #ownersOf(instance) {
    return [...this.owners].filter((owner) => owner.instance === instance);
  }

  /** Stops every context of an instance but that of its present owner, where it can be. */
  #stopRetired(instance) {
    for (const owner of this.#ownersOf(instance)) {
      if (owner.token !== instance.owner && !owner.isFrozen && !this.world.stuck.has(instance.id)) this.#stop(owner);
    }
    this.#publish(instance);
  }

  #stop(owner) {
    owner.stop ??= owner.thread.terminate().then(() => {
      this.#handle(owner); // what it sent before
      this.owners.delete(owner);
      owner.instance.unproven.delete(owner.token);
      this.#publish(owner.instance);
      this.notify();
    });
    return owner.stop;
  }

  /** Shows a decided end, and answers who waits for it, when no context is left that might run (PUB-1). */
  #publish(instance) {
    if (instance.outcome === null || instance.ended !== null || instance.unproven.size > 0) return;
    rules.publish(instance, this.world.now);
    this.waiting.get(instance)?.forEach(({ resolve }) => resolve());
    this.waiting.delete(instance);
  }

  // What contexts report

  #handle(owner) {
    while (!owner.isFrozen && owner.inbox.length > 0) {
      const message = owner.inbox.shift();
      this.#messages[message.word](owner, message);
    }
  }

  /** Whether what an owner reports may be committed (PUB-2). */
  #isCurrent(owner) {
    return owner.token === owner.instance.owner;
  }

  /** The same for an outcome, which is none after the lifetime, be its end processed or not (LIF-5). */
  #isInTime(owner) {
    this.#expire(owner.instance);
    return this.#isCurrent(owner);
  }

  #messages = {
    drained: (owner, { dealt }) => void (owner.drained = dealt),

    call: (owner, call) => {
      if (this.#isCurrent(owner)) this.#answer(owner, call.name, rules.call(owner.instance, call, this.world.now));
    },
    attempted: (owner, attempt) => {
      const { name } = attempt;
      if (this.#isHeldBack(owner, attempt, "effect-end", name) || !this.#isInTime(owner)) return;
      this.#answer(owner, name, rules.attempted(owner.instance, attempt, this.world.now));
    },
    mismatch: (owner) => {
      if (this.#isCurrent(owner)) rules.mismatch(owner.instance);
    },
    settled: (owner, settlement) => {
      if (this.#isHeldBack(owner, settlement, "settled") || !this.#isInTime(owner)) return;
      const { isUnsettled, reason, message, output } = settlement;
      if (isUnsettled) rules.mismatch(owner.instance); // STP-8
      else rules.decide(owner.instance, reason ? rules.failed(reason, message) : { status: "complete", output });
    },

    fetch: async (owner, { number, url, options }) => {
      this.underway += 1;
      const answer = await fetch(url, options).then(
        async (response) => ({ status: response.status, text: await response.text() }),
        (error) => {
          console.error(`a request of ${owner.instance.id} failed:`, error.cause ?? error);
          return { error: error.message };
        },
      );
      this.underway -= 1;
      if (url.endsWith("/effect-start")) this.#spring(owner, "effect-start", JSON.parse(options.body).name);
      owner.post({ word: "fetched", number, ...answer });
      this.notify();
    },
    ask: async (owner, { number, call, request }) => {
      const answer = await this.answerTo(call, request);
      owner.post({ word: "fetched", number, ...answer });
      this.notify();
    },
  };

  /** A call's `value` or `error`, as plain data. */
  async answerTo(call, request) {
    try {
      return { value: await this[call](request) };
    } catch (error) {
      return { error: { name: error.name, message: error.message } };
    }
  }

  #answer(owner, name, { point, ...answer }) {
    this.#spring(owner, point, name);
    if (Object.keys(answer).length > 0) owner.post({ word: "answered", ...answer });
  }

  // Instruments: what is done to owners, at once or at a point that they come by

  async kill(id, at) {
    if (at !== "now") return this.#setTrap("kill", id, at);
    const owners = [...this.owners].filter((owner) => owner.instance.id === id);
    await Promise.all(owners.map((owner) => this.#kill(owner) && owner.stop));
  }

  pause(id, at) {
    if (at !== "now") return this.#setTrap("freeze", id, at);
    for (const owner of this.owners) if (owner.instance.id === id) this.#freeze(owner);
  }

  /** Lets frozen owners go on, with what they were about to do before anything else. */
  resume(id) {
    for (const owner of this.owners) {
      if (owner.instance.id !== id || !owner.isFrozen) continue;
      owner.thaw();
      this.#handle(owner);
    }
  }

  #setTrap(deed, id, at) {
    const [point, ...name] = at.split(":");
    this.world.traps.push({ deed, id, at, point, name: name.length > 0 ? name.join(":") : undefined });
  }

  /** Springs a trap that an owner comes by; whether it was killed or frozen. */
  #spring(owner, point, name) {
    const isIt = (trap) => trap.id === owner.instance.id && trap.point === point && trap.name === name;
    const place = this.world.traps.findIndex(isIt);
    if (place < 0) return false;
    const [{ deed }] = this.world.traps.splice(place, 1);
    return deed === "kill" ? this.#kill(owner) : this.#freeze(owner);
  }

  /** Whether a trap has kept a report from being handled; that of a frozen owner is kept for later. */
  #isHeldBack(owner, report, point, name) {
    if (report.isLate || !this.#spring(owner, point, name)) return false;
    if (owner.isFrozen) owner.inbox.unshift({ ...report, isLate: true });
    return true;
  }

  #kill(owner) {
    if (this.world.stuck.has(owner.instance.id)) return false;
    if (owner.instance.owner === owner.token) owner.instance.owner = null;
    this.#stop(owner);
    return true;
  }

  #freeze(owner) {
    owner.freeze(this.world.now + LEASE_SECONDS * 1000);
    return true;
  }

  // The end of the process

  /** A hard stop: the calls in flight are lost, and all contexts that can be stopped. */
  async halt() {
    const lost = new HostError("host_stopped", "the Host was stopped");
    for (const answers of this.waiting.values()) answers.forEach(({ reject }) => reject(lost));
    const owners = [...this.owners];
    this.world.survivors = owners.filter((owner) => this.world.stuck.has(owner.instance.id) && !owner.isGone);
    await Promise.all(owners.filter((owner) => !this.world.survivors.includes(owner)).map(({ thread }) => thread.terminate()));
  }
}

/** A name, as likely as its weight says; undefined where there is none. */
function drawn(weights) {
  let left = Math.random() * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  return Object.keys(weights).find((name) => (left -= weights[name]) < 0);
}
