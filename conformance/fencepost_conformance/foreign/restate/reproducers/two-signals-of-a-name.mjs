/**
 * EVT-8, EVT-9, WFE-2, WFE-8: two signals of one name that arrive before anybody waits for them.
 *
 * The Form keeps events until a wait takes them, oldest first. Restate's documentation has a handler wait for
 * a signal by its name, and says nothing about a second one.
 */

import { call, pause, restate, serve } from "./server.mjs";

const taken = [];
const handler = async (ctx) => {
  await ctx.sleep({ seconds: 2 });
  taken[0] = await ctx.signal("go");
  taken[1] = await ctx.signal("go");
};
const send = async (ctx, { target, value }) => ctx.invocation(target).signal("go").resolve(value);
const waits = restate.service({ name: "Waits", handlers: { handler } });
const sends = restate.service({ name: "Sends", handlers: { send } });
await serve(waits, sends);

const { body } = await call("ingress", "POST", "/Waits/handler/send");
const { invocationId: target } = JSON.parse(body);
await pause(500);
for (const value of [1, 2]) await call("ingress", "POST", "/Sends/send", { target, value });
await pause(5000);
const query = `SELECT status FROM sys_invocation WHERE id = '${target}'`;
const { body: rows } = await call("admin", "POST", "/query", { query });
console.log("expected [1,2], completed");
console.log(`seen     ${JSON.stringify(taken)}, ${JSON.parse(rows).rows[0].status}`);
process.exit(0);
