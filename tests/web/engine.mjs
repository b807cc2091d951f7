// Answers requests, a line each, with the playground's engine: `node engine.mjs ENGINE < requests`.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Engine } from "../../crates/firstflight-web/page/engine.js";

const engine = await Engine.load(readFile(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  // A request about a file names it; the page has its bytes.
  const file = request.file && (await readFile(request.file));
  delete request.file;
  console.log(JSON.stringify(engine.call(JSON.stringify(request), file)));
}
