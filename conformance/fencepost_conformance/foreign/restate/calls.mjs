/**
 * Calls of Restate's own HTTP APIs (ingress and admin), each with a deadline and a line in the log. They go to
 * the Unix sockets that a server keeps in its folder, so that no port is needed.
 */

import { request } from "node:http";
import { join } from "node:path";

import { EngineError } from "../shared/form.mjs";
import { log, shown, within } from "../shared/wire.mjs";

const DEADLINE_MILLISECONDS = 10_000;
const PAUSE_MILLISECONDS = 50;

/** A server's two APIs, by the folder that holds its sockets. */
export class Calls {
  isCut = false; // whether the way to the server is cut

  constructor(folder) {
    this.folder = folder;
  }

  /** The ingress, by which callers speak to handlers: `{status, body}`, `body` as text. */
  ingress(method, path, body) {
    return this.#call("ingress", method, path, body);
  }

  /** The admin API: `{status, body}`, `body` as text. */
  admin(method, path, body) {
    return this.#call("admin", method, path, body);
  }

  /** The rows of a query over what the server holds (its SQL introspection), which fails while it starts. */
  async query(sql) {
    const limit = performance.now() + DEADLINE_MILLISECONDS;
    for (;;) {
      const { status, body } = await this.admin("POST", "/query", JSON.stringify({ query: sql }));
      if (status === 200) return JSON.parse(body).rows;
      if (performance.now() > limit) throw new EngineError("backend_unavailable", body);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
    }
  }

  async #call(api, method, path, body) {
    const said = `${api}: ${method} ${path}${body === undefined ? "" : ` ${shown(body)}`}`;
    try {
      const answer = await this.#send(join(this.folder, this.isCut ? "cut" : `${api}.sock`), method, path, body);
      log(`${said} -> ${answer.status} ${shown(answer.body)}`);
      return answer;
    } catch (error) {
      log(`${said} -> ${error.message}`);
      throw error;
    }
  }

  #send(socketPath, method, path, body) {
    const headers = { accept: "application/json" };
    if (body !== undefined) headers["content-type"] = "application/json";
    const { promise, resolve, reject } = Promise.withResolvers();
    const failed = (error) => reject(new EngineError("backend_unavailable", error.message));
    const sent = request({ socketPath, method, path, headers }, async (response) => {
      try {
        const chunks = await Array.fromAsync(response);
        resolve({ status: response.statusCode, body: Buffer.concat(chunks).toString() });
      } catch (error) {
        failed(error);
      }
    });
    sent.on("error", failed);
    sent.end(body);
    return within(DEADLINE_MILLISECONDS, promise, () => {
      sent.destroy();
      return new EngineError("backend_unavailable", `no answer within ${DEADLINE_MILLISECONDS / 1000} s`);
    });
  }
}

/** A text in SQL. */
export const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
