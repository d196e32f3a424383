/** Loads a module of this Host, broken as `--fault NAME` says if it is given. */
import { argv } from "node:process";

const place = argv.indexOf("--fault");

export async function load(module) {
  if (place >= 0) (await import("./faults.mjs")).breakHost(argv[place + 1]);
  return import(module);
}
