/** What was asked of the parent and is answered in a later turn: requests by `fetch`, calls of a binding. */

import { tell } from "./channel.mjs";
import { MapClass, mapDelete, mapGet, mapSet } from "./intrinsics.mjs";

const waiting = new MapClass();
let last = 0;

/** Sends a request at once, in the turn of its call; `take` gets the answer, as parsed JSON. */
export const request = (kind, members, take) => {
  last += 1;
  mapSet(waiting, last, take);
  tell(`{"${kind}":${last},${members}}`);
  return last;
};

/** Hands an answer to whoever waits for it. */
export const answered = (answer) => {
  const take = mapGet(waiting, answer.answer);
  if (take === undefined) return;
  mapDelete(waiting, answer.answer);
  take(answer);
};
