/**
 * The caller's binding (BND): `create` and `get`, and an instance's `status`, `sendEvent` and `terminate`.
 *
 * Arguments are read by descriptors, documents among them, so that nothing of the caller's runs (DOC-6). What
 * a call comes to is for the machine to say; a rejection is an Error whose `name` is its word for it (BND-13).
 */

import { request } from "./answers.mjs";
import { fields, scalar } from "./arguments.mjs";
import { sound } from "./channel.mjs";
import { decode, encode, told } from "./documents.mjs";
import { defineProperty, ErrorClass, freeze, own, stringify } from "./intrinsics.mjs";
import { Deferred } from "./promises.mjs";

const PLAIN = { writable: true, enumerable: false, configurable: true };

const rejection = ({ name, message }) =>
  defineProperty(new ErrorClass(message), "name", { __proto__: null, ...PLAIN, value: name });

/** One call: `describe` gives its arguments as JSON, or throws; `use` makes the result of the answer. */
const calling = (binding, op, describe, use) => {
  sound();
  const deferred = new Deferred();
  try {
    const members = `"binding":${stringify(binding)},"op":"${op}","arguments":{${describe()}}`;
    request("call", members, (answer) => {
      const error = own(answer, "error");
      if (error === undefined) deferred.resolve(use(answer.ok));
      else deferred.reject(rejection(error));
    });
  } catch (error) {
    deferred.reject(error);
  }
  return deferred.promise;
};

const nothing = () => undefined;

/** The answer of `status()`; its output comes as canonical text (BND-6). */
const statusOf = (answer) => {
  const output = own(answer, "output");
  if (output !== undefined) answer.output = decode(output);
  return answer;
};

const instanceOf = (binding, id) => {
  const named = `"id":${scalar(id)}`;
  return freeze({
    id, // BND-1: read-only
    status: () => calling(binding, "status", () => named, statusOf),
    sendEvent: (event) =>
      calling(binding, "send_event", () => {
        const { type, payload } = fields(event, "type", "payload", "sendEvent");
        return `${named},"type":${scalar(type)},"payload":${told(encode(payload))}`;
      }, nothing),
    terminate: () => calling(binding, "terminate", () => named, nothing),
  });
};

/** What an instance finds in its `env` under the binding's name. */
export const bindingOf = (binding) =>
  freeze({
    create: (options) =>
      calling(binding, "create", () => {
        const { id, params } = fields(options, "id", "params", "create");
        return `${id === undefined ? "" : `"id":${scalar(id)},`}"params":${told(encode(params))}`;
      }, (id) => instanceOf(binding, id)),
    get: (id) => calling(binding, "get", () => `"id":${scalar(id)}`, () => instanceOf(binding, id)),
  });
