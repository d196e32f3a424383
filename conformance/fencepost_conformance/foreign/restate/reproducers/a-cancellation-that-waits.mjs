/**
 * A cancellation does not reach an attempt that was asked to suspend while a run block goes on.
 *
 * Restate's documentation says that an invocation can be cancelled at any point of its lifecycle, and that
 * ongoing context actions are interrupted. With an inactivity timeout of zero, and so after a minute with the
 * default, the handler hears of it only when the block has ended.
 */

import { call, pause, restate, serve } from "./server.mjs";

const handler = async (ctx) => {
  await ctx.run("four seconds", () => pause(4000));
};
const patient = restate.service({ name: "Patient", handlers: { handler } });
const hurried = restate.service({ name: "Hurried", handlers: { handler }, options: { inactivityTimeout: 0 } });
await serve(patient, hurried);

for (const name of ["Patient", "Hurried"]) {
  const { body } = await call("ingress", "POST", `/${name}/handler/send`);
  const { invocationId } = JSON.parse(body);
  await pause(1000);
  await call("admin", "PATCH", `/invocations/${invocationId}/cancel`);
  await pause(1000);
  const { body: rows } = await call("admin", "POST", "/query", {
    query: `SELECT status, completion_failure FROM sys_invocation WHERE id = '${invocationId}'`,
  });
  console.log(`${name}: expected completed and cancelled a second after the cancellation`);
  console.log(`${name}: seen     ${rows}`);
}
process.exit(0);
