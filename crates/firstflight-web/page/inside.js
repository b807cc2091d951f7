// The sliders of a page with a simulator inside: what was printed stays, and what is computed here is marked.

const printed = { report, options: JSON.parse(byId("plan").textContent), cells: new Map() };
let options = printed.options;
let insideBusy = false;
let insideAgain = false;
let trusted = false;
let simulator = null;

function sayInside(text) {
  byId("inside-problem").hidden = text === "";
  byId("inside-problem").textContent = text;
}

const askInside = (plan) => {
  const points = Math.min(1500, Math.max(300, byId("charts").clientWidth));
  return simulator.ask({ do: "view", plan, points, arm: 0 });
};
const valuesOf = (data) => JSON.stringify(data.table.rows.map(({ arm, values }) => [arm, values]));

// A simulator that does not come to the numbers printed has nothing to say about others.
async function trust() {
  simulator ??= new Asker();
  const answer = await askInside(printed.options);
  if (!answer.ok) return `${answer.text}.`;
  trusted = valuesOf(JSON.parse(answer.text).report) === valuesOf(printed.report);
  return trusted ? "" : "The simulator in this page is a different version: it does not reproduce the printed numbers, so the sliders are disabled.";
}

async function recompute() {
  if (insideBusy) {
    insideAgain = true;
    return;
  }
  insideBusy = true;
  insideAgain = false;
  const wrong = trusted ? "" : await trust();
  const wanted = options;
  const answer = wrong ? { ok: false, text: wrong } : await askInside(wanted);
  insideBusy = false;
  if (options === printed.options) return;
  if (answer.ok) showComputed(JSON.parse(answer.text).report, wanted);
  else sayInside(`${answer.text[0].toUpperCase()}${answer.text.slice(1)}`);
  if (insideAgain) recompute();
}

const cellKey = (cell) => `${cell.closest("[data-row]").dataset.row} ${cell.dataset.column}`;
const tableCells = () => byId("table-box").querySelectorAll("[data-row] [data-column]");

// Each value that differs from the printed one has that below it; again and again, since the reader may sort.
function markTable() {
  if (report === printed.report) return;
  for (const cell of tableCells()) {
    const value = cell.querySelector(".value, .word").textContent;
    const before = printed.cells.get(cellKey(cell));
    if (before === value || before === undefined) continue;
    cell.classList.add("changed");
    cell.append(html("small", { class: "printed" }, `printed ${before}`));
  }
}

function redraw() {
  legendAnew();
  entitle();
  change();
  table();
  byId("arms").replaceChildren();
  armCards();
  byId("command").textContent = report.command;
}

function legendAnew() {
  byId("legend").replaceChildren();
  byId("layers").replaceChildren();
  legend();
}

function showComputed(data, wanted) {
  sayInside("");
  use(data);
  redraw();
  const changes = Object.keys(wanted).filter((key) => wanted[key] !== printed.options[key]).map((key) => `${key} ${wanted[key]} (printed: ${printed.options[key]})`);
  byId("computed").hidden = false;
  byId("computed").replaceChildren(html("strong", {}, "Computed in this page, not printed: "), `${changes.join(", ")}. ${report.finding} Everything below is of this path.`);
  byId("as-printed").disabled = false;
}

function showPrinted() {
  options = printed.options;
  byId("computed").hidden = true;
  byId("as-printed").disabled = true;
  sayInside("");
  use(printed.report);
  redraw();
  syncInside();
}

function syncInside() {
  for (const slider of PATH_SLIDERS) showSlider(slider, slider.read(printed.report.path) ?? NaN);
  for (const slider of TRANSFER_SLIDERS) showSlider(slider, printed.report.workload_bytes);
}

function ask(next) {
  options = { ...options, ...next };
  recompute();
}

function buildInside() {
  for (const cell of tableCells()) printed.cells.set(cellKey(cell), cell.querySelector(".value, .word").textContent);
  byId("inside-sliders").addEventListener("submit", (event) => event.preventDefault());
  byId("inside-sliders").append(
    ...PATH_SLIDERS.map((slider) => sliderRow(slider, ({ key }, text) => ask({ path: withSlider(options.path, report.path, key, text) }))),
    ...TRANSFER_SLIDERS.map((slider) => sliderRow(slider, ({ key }, text) => ask({ [key]: text }))));
  byId("as-printed").addEventListener("click", showPrinted);
  new MutationObserver(markTable).observe(byId("table-box"), { childList: true });
  syncInside();
}

buildInside();
