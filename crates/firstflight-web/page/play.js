// The page: what is asked for goes to the engine, what it answers is drawn; the newest wishes count.

let known = null;
const makeWorker = () => new Worker("worker.js", { type: "module" });
const engine = new Asker();
let busy = false;
let again = false;

function say(text) {
  byId("problem").hidden = text === "";
  byId("problem").textContent = text;
}

let addressTimer = null;

// Something else is asked for: at once, or as soon as the engine is free.
function changed() {
  clearTimeout(addressTimer);
  // Browsers allow so many entries a minute, and a slider moves more often.
  addressTimer = setTimeout(() => history.replaceState(null, "", address()), 300);
  stepped = null;
  if (busy) again = true;
  else compute();
}

// While a slider moves, a third of the points is drawn, every other chart in turn, and text is laid out now and then only: all three take
// longer than computing. Once it rests, everything is shown.
const QUICK_MS = 150;
let shownAt = -Infinity;
let wordsAt = -Infinity;
let resting = null;
let turn = 0;

// As many points as a chart has pixels, as it was drawn last.
const mostPoints = (quick) => Math.round(Math.min(1500, Math.max(300, charts[0].wide ?? byId("charts").clientWidth)) / (quick ? 3 : 1));

// One trial is shown at once. What more trials say about a path with chance follows, from an engine of its own.
const REPEAT_AFTER_MS = 700;
let repeating = null;
let repeatRun = 0;

function laterRepeat(wanted) {
  clearTimeout(repeating);
  const run = ++repeatRun;
  if (wanted) repeating = setTimeout(() => repeat(run), REPEAT_AFTER_MS);
}

async function repeat(run) {
  background ??= new Asker();
  const answer = await background.ask({ do: "repeat", plan: asked });
  if (run !== repeatRun) return;
  if (answer.ok) {
    const { table, finding, notes, repeat } = JSON.parse(answer.text);
    Object.assign(report, { table, finding, notes, repeat });
    results();
  }
  root.repeated = String(run);
}

async function compute(inFull = false) {
  busy = true;
  again = false;
  laterRepeat(false);
  clearTimeout(resting);
  const quick = !inFull && performance.now() < shownAt + QUICK_MS;
  byId("charts").classList.toggle("moving", quick);
  const answer = await engine.ask({ do: "view", plan: asked, points: mostPoints(quick), arm: chosen });
  busy = false;
  if (answer.ok) {
    const seen = JSON.parse(answer.text);
    if (inFull) refine(seen);
    else show(seen, quick);
    if (!quick) laterRepeat(seen.repeats);
  } else say(`Not computed: ${answer.text}. The page shows the last valid input.`);
  if (again) compute();
  else if (quick && answer.ok) resting = setTimeout(() => compute(true), QUICK_MS);
}

let legendOf = "";
let columnsOf = "";

function show(seen, quick) {
  say("");
  use(seen.report);
  chosen = Math.min(chosen, Math.max(0, armTexts().length - 1));
  const names = JSON.stringify(arms.map((arm) => [arm.arm, arm.look]));
  if (names !== legendOf) {
    legendOf = names;
    byId("legend").replaceChildren();
    byId("layers").replaceChildren();
    legend();
  }
  curves(seen);
  turn = 1 - turn;
  change(quick ? (index) => index % 2 === turn : undefined);
  shownAt = performance.now();
  if (!again || shownAt > wordsAt + QUICK_MS) wordsOf();
  root.views = Number(root.views ?? 0) + 1;
}

// The same with all points: what is being read or stepped through stays.
function refine(seen) {
  use(seen.report);
  curves(seen);
  render();
  if (reading !== null) for (const chart of charts) crosshair(chart, reading);
}

function wordsOf() {
  wordsAt = shownAt;
  listInside();
  entitle();
  results();
  byId("command").textContent = report.command;
  syncControls();
  syncTour();
  laterGrid();
}

// Finding, notes and table: of one trial at first, then of all.
function results() {
  byId("finding").textContent = storyFinding() ?? report.finding;
  byId("notes").replaceChildren(...report.notes.filter(({ level }) => level === "warning").map(({ text }) => html("p", { class: "note warning" }, html("strong", {}, "Note "), text)));
  table();
  const columns = report.table.columns.map(({ key }) => key).join();
  if (columns !== columnsOf) {
    columnsOf = columns;
    byId("columns").querySelector("dl").replaceChildren();
    columnWords();
  }
}

function csv() {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = ["arm", ...report.table.columns.map(({ key }) => key)];
  const rows = report.table.rows.map((row) => [row.arm, ...row.values.map((value) => value ?? "")]);
  return [head, ...rows].map((row) => row.map((cell) => quoted(String(cell))).join(",")).join("\n") + "\n";
}

// What `compare --json -` prints, computed when it is wanted.
async function saveJson() {
  const answer = await engine.ask({ do: "compare", plan: asked });
  if (answer.ok) downloadText("firstflight.json", "application/json", answer.text);
  else say(answer.text);
}

async function begin() {
  theme();
  tips();
  copy();
  const answer = await engine.ask({ do: "facts" });
  if (!answer.ok) return say(answer.text);
  known = JSON.parse(answer.text);
  byId("version").textContent = `firstflight ${known.version}.`;
  const wrong = readAddress();
  layOut();
  byId("signals").querySelector("figcaption").append(html("p", { class: "phase-key", id: "signal-key" }));
  buildControls();
  saves(saveJson);
  charts.forEach(pointer);
  byId("reset").addEventListener("click", showAll);
  byId("back").addEventListener("click", () => step(-1));
  byId("on").addEventListener("click", () => step(1));
  byId("save-csv").addEventListener("click", () => downloadText("firstflight.csv", "text/csv", csv()));
  addEventListener("hashchange", () => {
    const wrong = readAddress();
    if (wrong) say(wrong);
    else changed();
  });
  addEventListener("beforeprint", () => render(700));
  addEventListener("afterprint", () => change());
  let drawn = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== drawn && report) change();
    drawn = innerWidth;
  });
  buildTour();
  buildReplay();
  buildGame();
  await compute();
  if (wrong) say(wrong);
  root.ready = "";
}

begin();
