/**
 * The caller's binding: what `env.NAME` is for whoever may call the workflow (BND-1).
 *
 * It checks the shape of every argument and writes documents, where the caller is; `ask(call, request)` then
 * carries plain data to the Host. The same surface serves the caller's Worker and a workflow that was given
 * its own binding.
 */

import { DocumentTooLarge, read, write } from "./documents.mjs";
import { isName, only } from "./limits.mjs";

/** A rejection by the Host: an Error whose `name` is the word that the Form gives it (BND-13). */
export class HostError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

/** The binding over an `ask` that returns a Promise. */
export function bindingOver(ask) {
  const handle = (id) =>
    Object.freeze({
      id, // read-only, since the handle is frozen
      async status() {
        const { output, ...answer } = await ask("status", { id });
        return output === undefined ? answer : { ...answer, output: read(output) };
      },
      async sendEvent(input) {
        const { type, payload } = only(["type", "payload"], input);
        if (!isName(type)) throw new TypeError("an event type has 1 to 256 Unicode scalar values"); // EVT-1
        await ask("sendEvent", { id, type, payload: written(payload, "TypeError") });
      },
      async terminate() {
        await ask("terminate", { id });
      },
    });
  return Object.freeze({
    async create(input = {}) {
      const { id, params } = only(["id", "params"], input);
      if (id !== undefined && !isName(id)) throw new TypeError("an id has 1 to 256 Unicode scalar values"); // BND-2
      return handle(await ask("create", { id, params: written(params, "invalid_params") })); // DOC-8
    },
    async get(id) {
      return handle(await ask("get", { id }));
    },
  });
}

/** A caller's document as text; what is none is refused with an error of this name (DOC-8). */
function written(document, name) {
  try {
    return write(document);
  } catch (error) {
    throw new HostError(error instanceof DocumentTooLarge ? "document_too_large" : name, error.message);
  }
}
