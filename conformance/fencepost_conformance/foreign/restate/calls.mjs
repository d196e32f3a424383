/**
 * Calls of Restate's own HTTP APIs (ingress and admin), each with a deadline and a line in the log. They go to
 * the Unix sockets that a server keeps in its folder, so that no port is needed.
 */

import { request } from "node:http";
import { join } from "node:path";

const DEADLINE_MILLISECONDS = 10_000;
const LOGGED = 400; // characters of an answer

/** A rejection by the engine, or by what stands before it: the `name` that a caller sees. */
export class EngineError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

const started = performance.now();

/** One line on standard error. */
export const log = (line) => {
  const at = ((performance.now() - started) / 1000).toFixed(3);
  process.stderr.write(`${at} ${line}\n`);
};

const shown = (text) => (text.length > LOGGED ? `${text.slice(0, LOGGED)}... (${text.length})` : text);

/** A server's two APIs, by the folder that holds its sockets. */
export class Calls {
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

  /** The rows of a query over what the server holds (its SQL introspection). */
  async query(sql) {
    const { status, body } = await this.admin("POST", "/query", JSON.stringify({ query: sql }));
    if (status !== 200) throw new EngineError("backend_unavailable", body);
    return JSON.parse(body).rows;
  }

  async #call(api, method, path, body) {
    const said = `${api}: ${method} ${path}${body === undefined ? "" : ` ${shown(body)}`}`;
    try {
      const answer = await this.#send(join(this.folder, `${api}.sock`), method, path, body);
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
    const deadline = setTimeout(() => {
      sent.destroy();
      reject(new EngineError("backend_unavailable", `no answer within ${DEADLINE_MILLISECONDS / 1000} s`));
    }, DEADLINE_MILLISECONDS);
    const failed = (error) => reject(new EngineError("backend_unavailable", error.message));
    const sent = request({ socketPath, method, path, headers }, async (response) => {
      try {
        const body = (await Array.fromAsync(response)).map((chunk) => Buffer.from(chunk));
        resolve({ status: response.statusCode, body: Buffer.concat(body).toString() });
      } catch (error) {
        failed(error);
      }
    });
    sent.on("error", failed);
    sent.end(body);
    return promise.finally(() => clearTimeout(deadline));
  }
}

/** A text in SQL. */
export const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
