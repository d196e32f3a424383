/**
 * The line to the parent: one message a line, written and read without giving anything else a turn.
 *
 * `ask` is the heart of a stop. It writes, and blocks in a read; where the machine has ended this context the
 * parent does not answer but kills, so that the code stands for ever in the middle of its call, and no catch
 * and no finally runs. Near the limit of the stack an exception may come between the two, and the application
 * may catch it. Then nobody knows what the parent has heard, and the process must not go on: `asking` stays
 * set, every way into the runtime looks at it (`sound`), and the process ends, which the parent takes as the
 * loss of this context.
 */

import { readSync, writeSync } from "node:fs";
import { parse } from "./intrinsics.mjs";

const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const { reallyExit } = process;
const { allocUnsafeSlow } = Buffer;
export const { byteLength } = Buffer;
const utf8Write = uncurry(Buffer.prototype.utf8Write);
const latin1Slice = uncurry(Buffer.prototype.latin1Slice);

const CHUNK = 65_536;
const NEWLINE = 10;
const LOST = 70; // exit status, for whoever looks at it

const incoming = allocUnsafeSlow(CHUNK);
const scratch = allocUnsafeSlow(CHUNK);
let channel = -1;
let asking = false;

/** Ends the process at once: its parent takes that as the loss of the context. */
export const end = () => reallyExit(LOST);

/** Uses this file descriptor. */
export const open = (descriptor) => { channel = descriptor; };

/** Lets nothing go on after an exchange with the parent that did not come to its end. */
export const sound = () => {
  if (asking) end();
};

const write = (line) => {
  const size = byteLength(line);
  const bytes = size > CHUNK ? allocUnsafeSlow(size) : scratch;
  utf8Write(bytes, line, 0, size);
  for (let written = 0; written < size;) {
    try {
      written += writeSync(channel, bytes, written, size - written);
    } catch {
      end();
    }
  }
};

const received = () => {
  try {
    return readSync(channel, incoming, 0, CHUNK, null);
  } catch {
    return 0; // the parent was killed
  }
};

const read = () => {
  let line = "";
  for (;;) {
    const count = received();
    if (count === 0) end(); // the parent is gone: nobody is left who could stop this process
    line += latin1Slice(incoming, 0, count); // the parent writes ASCII
    if (incoming[count - 1] === NEWLINE) return parse(line);
  }
};

/** Tells the parent something; nothing comes back. `message` is JSON. */
export const tell = (message) => {
  sound();
  asking = true;
  write(`${message}\n`);
  asking = false;
};

/** Tells the parent something and gives its answer, if it answers; `use` takes it before anything else runs. */
export const ask = (message, use) => {
  sound();
  asking = true;
  write(`${message}\n`);
  const result = use(read());
  asking = false;
  return result;
};
