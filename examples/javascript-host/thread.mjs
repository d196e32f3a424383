/** What a worker thread begins with. */
import { load } from "./load.mjs";

await load("./context.mjs");
