/**
 * A small Fetch: requests and answers that are text or bytes. There is no network here; the parent asks.
 *
 * A request is handed over in the turn that called `fetch`, the answer comes in a later one. Streams, forms
 * and blobs are left out, and so is what only a browser has: modes, caches, credentials.
 */

import { request as send } from "./answers.mjs";
import { sound } from "./channel.mjs";
import {
  apply, freeze, isObject, lowerCase, MapClass, mapDelete, mapGet, mapHas, mapSet, own, parse, regExpExec,
  stringify, toWellFormed, trim, TypeErrorClass, Uint8ArrayClass, upperCase,
} from "./intrinsics.mjs";
import { Deferred } from "./promises.mjs";

const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const { from: bufferFrom } = Buffer;
const { isView } = ArrayBuffer;
const base64Slice = uncurry(Buffer.prototype.base64Slice);
const URLClass = URL;
const URLSearchParamsClass = URLSearchParams;
const hrefOf = uncurry(Object.getOwnPropertyDescriptor(URL.prototype, "href").get);
const decodeText = uncurry(TextDecoder.prototype.decode);
const encodeText = uncurry(TextEncoder.prototype.encode);
const textEncoder = new TextEncoder();
const TextDecoderClass = TextDecoder;
const abortedOf = uncurry(Object.getOwnPropertyDescriptor(AbortSignal.prototype, "aborted").get);
const reasonOf = uncurry(Object.getOwnPropertyDescriptor(AbortSignal.prototype, "reason").get);
const listen = uncurry(EventTarget.prototype.addEventListener);

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[^\0\r\n]*$/;
const UPPER = freeze({ __proto__: null, delete: 1, get: 1, head: 1, options: 1, post: 1, put: 1 });
const BODILESS = freeze({ __proto__: null, 101: 1, 204: 1, 205: 1, 304: 1 });

const headerName = (name) => {
  const text = `${name}`;
  if (regExpExec(TOKEN, text) === null) throw new TypeErrorClass(`${text} is no name of a header`);
  return lowerCase(text);
};

const headerValue = (value) => {
  const text = trim(`${value}`);
  if (regExpExec(VALUE, text) === null) throw new TypeErrorClass("a header has one line");
  return text;
};

export class Headers {
  #values = new MapClass();

  constructor(init = undefined) {
    if (init === undefined || init === null) return;
    if (isObject(init) && typeof init[Symbol.iterator] === "function") {
      for (const [name, value] of init) this.append(name, value);
    } else {
      for (const name of Object.keys(init)) this.append(name, init[name]);
    }
  }

  append(name, value) {
    const key = headerName(name);
    const before = mapGet(this.#values, key);
    mapSet(this.#values, key, before === undefined ? headerValue(value) : `${before}, ${headerValue(value)}`);
  }

  set(name, value) { mapSet(this.#values, headerName(name), headerValue(value)); }
  get(name) { return mapGet(this.#values, headerName(name)) ?? null; }
  has(name) { return mapHas(this.#values, headerName(name)); }
  delete(name) { mapDelete(this.#values, headerName(name)); }

  forEach(use, self = undefined) {
    for (const [name, value] of this) apply(use, self, [value, name, this]);
  }

  entries() { return [...this.#values].sort(([one], [other]) => (one < other ? -1 : 1)).values(); }
  keys() { return [...this.entries()].map(([name]) => name).values(); }
  values() { return [...this.entries()].map(([, value]) => value).values(); }
  [Symbol.iterator]() { return this.entries(); }
}

/** A body as text or bytes, and the type that goes with it; null for none. */
const extracted = (body) => {
  if (body === undefined || body === null) return { content: null, type: null };
  if (typeof body === "string") return { content: toWellFormed(body), type: "text/plain;charset=UTF-8" };
  if (body instanceof URLSearchParamsClass) {
    return { content: `${body}`, type: "application/x-www-form-urlencoded;charset=UTF-8" };
  }
  if (body instanceof ArrayBuffer) return { content: new Uint8ArrayClass(body.slice(0)), type: null };
  if (isView(body)) {
    return { content: new Uint8ArrayClass(body.buffer, body.byteOffset, body.byteLength).slice(), type: null };
  }
  throw new TypeErrorClass("a body is text, bytes or URLSearchParams");
};

let contentOf; // of a message
let copied; // its content once more, for a clone
let answerOf;

/** What requests and responses have in common. */
class Message {
  static {
    contentOf = (message) => message.#content;
    copied = (message) => {
      if (message.#used) throw new TypeErrorClass("the body has been read");
      return message.#content;
    };
  }

  #content;
  #used = false;
  #headers;

  constructor(body, headers) {
    const { content, type } = extracted(body);
    this.#content = content;
    this.#headers = new Headers(headers);
    if (type !== null && !this.#headers.has("content-type")) this.#headers.set("content-type", type);
  }

  get headers() { return this.#headers; }
  get bodyUsed() { return this.#used; }

  #take() {
    if (this.#used) throw new TypeErrorClass("the body has been read");
    this.#used = this.#content !== null;
    return this.#content ?? "";
  }

  async text() {
    const content = this.#take();
    return typeof content === "string" ? content : decodeText(new TextDecoderClass(), content);
  }

  async json() { return parse(await this.text()); }

  async bytes() {
    const content = this.#take();
    return typeof content === "string" ? encodeText(textEncoder, content) : content.slice();
  }

  async arrayBuffer() { return (await this.bytes()).buffer; }
}

export class Request extends Message {
  #method;
  #url;
  #signal;

  constructor(input, init = {}) {
    const given = input instanceof Request ? input : undefined;
    const method = `${init.method ?? given?.method ?? "GET"}`;
    const normal = lowerCase(method) in UPPER ? upperCase(method) : method;
    if (regExpExec(TOKEN, method) === null) throw new TypeErrorClass(`${method} is no method`);
    const body = init.body ?? (given === undefined ? null : copied(given));
    if (body !== null && (normal === "GET" || normal === "HEAD")) {
      throw new TypeErrorClass(`${normal} has no body`);
    }
    super(body, init.headers ?? given?.headers);
    this.#method = normal;
    this.#url = given === undefined ? hrefOf(new URLClass(`${input}`)) : given.url;
    this.#signal = init.signal ?? given?.signal ?? null;
  }

  get method() { return this.#method; }
  get url() { return this.#url; }
  get signal() { return this.#signal; }
  clone() { return new Request(this); }
}

export class Response extends Message {
  static {
    answerOf = (content, status, headers, url) => {
      const response = new Response(status in BODILESS ? null : content, { status, headers });
      response.#url = url;
      return response;
    };
  }

  #status;
  #statusText;
  #url = "";

  constructor(body = null, init = {}) {
    const status = init.status ?? 200;
    if (!(status >= 200 && status <= 599)) throw new RangeError("a status is from 200 to 599");
    if (body !== null && status in BODILESS) throw new TypeErrorClass(`${status} has no body`);
    super(body, init.headers);
    this.#status = Math.trunc(status);
    this.#statusText = `${init.statusText ?? ""}`;
  }

  static json(data, init = {}) {
    const headers = new Headers(init.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return new Response(stringify(data), { ...init, headers });
  }

  get status() { return this.#status; }
  get statusText() { return this.#statusText; }
  get ok() { return this.#status >= 200 && this.#status <= 299; }
  get url() { return this.#url; }
  get redirected() { return false; }
  get type() { return "default"; }

  clone() {
    const { status, statusText, headers } = this;
    return new Response(copied(this), { status, statusText, headers });
  }
}

const contentMember = (content) => {
  if (content === null) return '"text":null';
  if (typeof content === "string") return `"text":${stringify(content)}`;
  const bytes = bufferFrom(content.buffer, content.byteOffset, content.byteLength);
  return `"bytes":"${base64Slice(bytes, 0, bytes.length)}"`;
};

/** The members of a message or of an answer that say what its content is. */
export const described = (message) => {
  let headers = "";
  message.headers.forEach((value, name) => {
    headers += `${headers === "" ? "" : ","}[${stringify(name)},${stringify(value)}]`;
  });
  return `"headers":[${headers}],${contentMember(contentOf(message))}`;
};

/** The content that a message of the parent's carries. */
export const contentIn = (message) => {
  const bytes = own(message, "bytes");
  if (bytes === undefined) return own(message, "text") ?? null;
  return new Uint8ArrayClass(bufferFrom(bytes, "base64"));
};

/** The global `fetch`. */
export const fetch = (input, init = undefined) => {
  sound();
  const deferred = new Deferred();
  try {
    const asked = new Request(input, init ?? {});
    const { signal } = asked;
    if (signal !== null && abortedOf(signal)) {
      deferred.reject(reasonOf(signal));
      return deferred.promise;
    }
    if (signal !== null) listen(signal, "abort", () => deferred.reject(reasonOf(signal)), { once: true });
    const members = `"method":${stringify(asked.method)},"url":${stringify(asked.url)},${described(asked)}`;
    send("fetch", members, (answer) => {
      const failed = own(answer, "failed");
      if (failed !== undefined) deferred.reject(new TypeErrorClass(failed));
      else deferred.resolve(answerOf(contentIn(answer), answer.status, answer.headers, asked.url));
    });
  } catch (error) {
    deferred.reject(error);
  }
  return deferred.promise;
};
