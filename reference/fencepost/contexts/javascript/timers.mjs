/**
 * Timers that fire when the parent says so: those whose time has come, or every one of them once.
 *
 * Between two turns this process stands in a read, so no timer of the platform could fire. The parent knows
 * from each turn when the next one is due, and under a virtual clock it lets them all fire as often as it
 * lets anything run.
 */

import { sound } from "./channel.mjs";
import {
  apply, arraySort, ceil, list, MapClass, mapDelete, mapForEach, mapGet, mapSet, max, TypeErrorClass,
} from "./intrinsics.mjs";

const clock = performance.now.bind(performance);
const LONGEST = 2_147_483_647; // milliseconds

class Timer {
  id;
  callback;
  given;
  due;
  every;

  constructor(id, callback, given, delay, repeats) {
    this.id = id;
    this.callback = callback;
    this.given = given;
    this.due = clock() + delay;
    this.every = repeats ? delay : undefined;
  }
}

const timers = new MapClass();
let last = 0;

const set = (callback, milliseconds, given, repeats) => {
  sound();
  if (typeof callback !== "function") throw new TypeErrorClass("a timer takes a function");
  const asked = +milliseconds;
  last += 1;
  mapSet(timers, last, new Timer(last, callback, given, asked >= 1 && asked <= LONGEST ? asked : 1, repeats));
  return last;
};

export const setTimeout = (callback, milliseconds = 0, ...given) => set(callback, milliseconds, given, false);
export const setInterval = (callback, milliseconds = 0, ...given) => set(callback, milliseconds, given, true);
export const clearTimeout = (id) => { mapDelete(timers, id); };

/** Milliseconds until the next timer is due, or undefined. */
export const untilNext = () => {
  let due;
  mapForEach(timers, (timer) => {
    if (due === undefined || timer.due < due) due = timer.due;
  });
  return due === undefined ? undefined : max(0, ceil(due - clock()));
};

/** The ids of the timers that are to fire now, in their order: all of them, or those whose time has come. */
export const firing = (all) => {
  const now = clock();
  const found = list();
  mapForEach(timers, (timer) => {
    if (all || timer.due <= now) found[found.length] = timer;
  });
  return arraySort(found, (one, other) => one.due - other.due || one.id - other.id);
};

/** Fires one, unless it was cleared meanwhile. */
export const fire = (timer) => {
  if (mapGet(timers, timer.id) !== timer) return;
  if (timer.every === undefined) mapDelete(timers, timer.id);
  else timer.due = clock() + timer.every;
  apply(timer.callback, undefined, timer.given);
};
