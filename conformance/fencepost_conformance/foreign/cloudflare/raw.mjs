/**
 * The smallest translation: each word of the Form is said in the nearest word of Cloudflare Workflows, with no
 * code around it.
 */

import { caller, entrypoint } from "./worker.mjs";

const MILLISECONDS = 1000;

/** The engine's words for a refusal, which stand in its message. */
const NAMES = { "instance.not_found": "unknown_instance", "instance.cannot_terminate": "instance_terminal" };

async function named(called) {
  try {
    return await called;
  } catch (error) {
    const word = Object.keys(NAMES).find((each) => error.message.includes(each));
    if (word === undefined) throw error;
    throw Object.assign(new Error(error.message), { name: NAMES[word] });
  }
}

/** `env.PROBE`: the five calls. */
const binding = (workflow) => {
  const handle = (instance) => ({
    id: instance.id,
    status: async () => told(await named(instance.status())),
    sendEvent: (event) => named(instance.sendEvent(event)),
    terminate: () => named(instance.terminate()),
  });
  return {
    create: async (options) => handle(await named(workflow.create(options))),
    get: async (id) => handle(await named(workflow.get(id))),
  };
};

/** The status without the keys that hold nothing. */
const told = ({ status, output, error }) => ({ status, ...(output !== null && { output }), ...(error && { error }) });

/** The three operations. */
const surface = (step) => ({
  do: (name, effect, policy = { maxAttempts: 1 }) => step.do(name, retries(policy), effect),
  sleep: (name, seconds) => step.sleep(name, seconds * MILLISECONDS),
  waitForEvent: (name, { type, timeoutSeconds }) =>
    step.waitForEvent(name, { type, timeout: timeoutSeconds * MILLISECONDS }),
});

/** The limit is documented to be the number of attempts. */
const retries = ({ maxAttempts, initialDelaySeconds = 0, backoff = "constant" }) => ({
  retries: { limit: maxAttempts, delay: initialDelaySeconds * MILLISECONDS, backoff },
});

export const Application = entrypoint(binding, (construct, { instanceId, payload }, step) =>
  construct().run({ instanceId, params: payload }, surface(step)),
);

export default caller(binding);
