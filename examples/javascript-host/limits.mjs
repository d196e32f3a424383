/** The limits of the Form, and what is said of arguments in more than one place. */

export const LIMITS = Object.freeze({
  textScalars: 256, // of an instance id, an event type and a step name (BND-2, EVT-1, STP-2)
  documentRootProperties: 1024, // DOC-1
  documentBytes: 1_048_576, // DOC-2
  inboxEvents: 1024, // EVT-3
  inboxBytes: 1_048_576, // EVT-3
  steps: 1024, // STP-9
  attempts: 100, // DO-2
  delaySeconds: 43_200, // DO-2
  sleepSeconds: 31_536_000, // SLP-1
  waitSeconds: 31_536_000, // WFE-1
  lifetimeSeconds: 31_536_000, // LIF-1
  retentionSeconds: 2_592_000, // RET-1
});

/** A text of 1 to 256 Unicode scalar values: what an id, an event type and a step name have to be. */
export const isName = (value) =>
  typeof value === "string" &&
  value.isWellFormed() && // a lone surrogate is no scalar value
  value.length > 0 &&
  [...value].length <= LIMITS.textScalars; // an astral character counts once

/** An integer from `least` to `most`. */
export const isWithin = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;

/** An object that has no other keys than these. */
export function only(keys, given) {
  if (typeof given !== "object" || given === null) throw new TypeError("an object is wanted");
  const unknown = Reflect.ownKeys(given).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw new TypeError(`there is no ${String(unknown)} here`);
  return given;
}
