// Engines beside the page: one request at a time each, and none may take for ever.

const LONGEST_MS = 30000;

class Asker {
  constructor() {
    this.last = 0;
    this.waiting = new Map();
    this.begin();
  }

  begin() {
    this.worker = makeWorker();
    this.worker.addEventListener("message", ({ data }) => this.settle(data.id, data));
    this.worker.addEventListener("error", () => this.lose("the engine cannot be started"));
  }

  settle(id, answer) {
    const waiting = this.waiting.get(id);
    if (!waiting) return;
    clearTimeout(waiting.timer);
    this.waiting.delete(id);
    waiting.done(answer);
  }

  // Everything that waits gets this sentence, and a new engine begins.
  lose(text) {
    this.worker.terminate();
    for (const id of [...this.waiting.keys()]) this.settle(id, { id, ok: false, text });
    this.begin();
  }

  // `{ok, text}`, always. A file goes along with a request that is about one.
  ask(request, file) {
    const id = ++this.last;
    return new Promise((done) => {
      const timer = setTimeout(() => this.lose(`this takes longer than ${LONGEST_MS / 1000} s: something smaller, or fewer arms?`), LONGEST_MS);
      this.waiting.set(id, { done, timer });
      this.worker.postMessage({ id, request: JSON.stringify(request), file }, file ? [file] : []);
    });
  }
}
