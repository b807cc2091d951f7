// Answers requests, a line each, with the playground's engine: `node engine.mjs ENGINE < requests`.
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";

// A module by its content: older versions of Node would take a file of this name for CommonJS.
const source = await readFile(new URL("../../crates/firstflight-web/page/engine.js", import.meta.url));
const { Engine } = await import(`data:text/javascript;base64,${source.toString("base64")}`);
const engine = await Engine.load(readFile(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  // A request about a file names it; the page has its bytes.
  const file = request.file && (await readFile(request.file));
  delete request.file;
  console.log(JSON.stringify(engine.call(JSON.stringify(request), file)));
}
