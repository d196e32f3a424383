/**
 * `fetch` as the probe uses it, made by a thread of its own: a report has left before its call returns, also
 * when the code that made it computes for ever afterwards, and whatever becomes of the attempt that made it.
 */

import { Agent, request } from "node:http";
import { Worker, parentPort, workerData } from "node:worker_threads";

const ROLE = "reporter"; // of a thread that only makes requests
const agent = new Agent({ keepAlive: false }); // none is lost with a connection that is being closed

/** In the thread: makes the requests, each as soon as it is told of it. */
function send({ number, url, method, headers, body }) {
  const answer = (given) => parentPort.postMessage({ number, ...given });
  const sent = request(url, { method, headers, agent }, async (response) => {
    try {
      const chunks = await Array.fromAsync(response);
      answer({ status: response.statusCode, text: Buffer.concat(chunks).toString() });
    } catch (error) {
      answer({ failure: error.message });
    }
  });
  sent.on("error", (error) => answer({ failure: error.message }));
  sent.end(body);
}

/** A `fetch` for requests and answers that are text. */
export function reporter() {
  const thread = new Worker(new URL(import.meta.url), { workerData: ROLE, execArgv: [] });
  const waiting = new Map(); // number -> what settles its promise
  thread.on("message", ({ number, status, text, failure }) => {
    const { resolve, reject } = waiting.get(number);
    waiting.delete(number);
    if (failure === undefined) resolve(new Response(text, { status }));
    else reject(new TypeError(failure));
  });
  let last = 0;
  return (url, { method = "GET", headers = {}, body } = {}) => {
    const deferred = Promise.withResolvers();
    waiting.set(++last, deferred);
    thread.postMessage({ number: last, url, method, headers, body });
    return deferred.promise;
  };
}

if (workerData === ROLE) parentPort.on("message", send);
