// A simulator inside a page: text in the page becomes a worker.

// Behind the script of the engine, in a worker that is made of both. Its first message brings the module.
function insideWorker() {
  let loading;
  addEventListener("message", async ({ data: { id, request, module, file } }) => {
    if (module) {
      const packed = new Blob([Uint8Array.from(atob(module), (c) => c.charCodeAt(0))]);
      loading = Engine.load(new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))));
      return;
    }
    let engine;
    try {
      engine = await loading;
      postMessage({ id, ...engine.call(request, file && new Uint8Array(file)) });
    } catch (error) {
      await engine?.begin();
      postMessage({ id, ok: false, text: engine ? "the simulator ran out of room: something smaller?" : `the simulator cannot be started here: ${error.message}` });
    }
  });
}
const insideSource = URL.createObjectURL(new Blob([`${ENGINE_SCRIPT}\n(${insideWorker})();`], { type: "text/javascript" }));

function makeWorker() {
  const worker = new Worker(insideSource);
  worker.postMessage({ module: byId("engine").textContent });
  return worker;
}
