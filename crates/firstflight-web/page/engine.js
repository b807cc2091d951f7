// The engine behind its five functions: a request in, an answer out, both JSON as text.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Engine {
  // From the module's bytes, or from a promise of a response that brings them.
  static async load(source) {
    const from = await source;
    if (typeof Response !== "undefined" && from instanceof Response) {
      if (!from.ok) throw new Error(`the engine is not there (${from.status})`);
      return Engine.load(from.arrayBuffer());
    }
    const engine = new Engine();
    engine.module = await WebAssembly.compile(from);
    await engine.begin();
    return engine;
  }

  // Afresh, with nothing kept: also after a trap, which leaves the memory as it was in the middle.
  async begin() {
    this.exports = (await WebAssembly.instantiate(this.module, {})).exports;
  }

  // `{ok, text}`: the answer, or one sentence that says what is wrong.
  // A request about a file has that file's bytes.
  call(request, about) {
    const { input, file, call, output, output_bytes, memory } = this.exports;
    if (about) {
      const place = file(about.length) >>> 0;
      new Uint8Array(memory.buffer, place, about.length).set(about);
    }
    const bytes = encoder.encode(request);
    const place = input(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
    const ok = call() === 0;
    const answer = new Uint8Array(memory.buffer, output() >>> 0, output_bytes() >>> 0);
    return { ok, text: decoder.decode(answer) };
  }
}
