// Runs the engine beside the page, so that the page never waits.
import { Engine } from "./engine.js";

const loading = Engine.load(fetch(new URL("engine.wasm", import.meta.url)));

addEventListener("message", async ({ data: { id, request, file } }) => {
  let engine;
  try {
    engine = await loading;
    postMessage({ id, ...engine.call(request, file && new Uint8Array(file)) });
  } catch (error) {
    // What it held is gone; the next request begins afresh.
    await engine?.begin();
    const what = engine ? "the engine ran out of room and was started again: a smaller object, or a smaller file?" : `the engine cannot be loaded: ${error.message}`;
    postMessage({ id, ok: false, text: what });
  }
});
