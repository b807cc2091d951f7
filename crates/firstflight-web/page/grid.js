// "What if": the same arms over a grid of queue and round trip, computed by an engine of its own while nothing else is asked.

const QUEUES = ["0.125bdp", "0.25bdp", "0.5bdp", "1bdp", "2bdp", "4bdp"];
const RTTS = ["10ms", "20ms", "40ms", "80ms", "160ms", "320ms"];
const AFTER_MS = 700;

let gridRun = 0;
let gridTimer = null;
let background = null;

function laterGrid() {
  clearTimeout(gridTimer);
  gridRun++;
  gridTimer = setTimeout(() => computeGrid(gridRun), AFTER_MS);
}

function gridMap(arm) {
  const head = html("tr", {}, html("th", { scope: "col" }, "queue \\ RTT"), ...RTTS.map((rtt) => html("th", { scope: "col" }, rtt.replace("ms", ""))));
  const rows = QUEUES.map((queue) => html("tr", {}, html("th", { scope: "row" }, queue.replace("bdp", " BDP")), ...RTTS.map((rtt) => html("td", { "data-cell": `${queue} ${rtt}` }))));
  return html("figure", { class: "map", "data-map": arm.arm },
    html("figcaption", {}, html("h3", {}, swatch(arm), arm.arm)),
    html("div", { class: "scroll" }, html("table", {}, html("caption", { class: "visually-hidden" }, `Completion time of ${arm.arm} over the ideal, by queue and round trip in ms`), html("thead", {}, head), html("tbody", {}, ...rows))));
}

async function computeGrid(run) {
  if (!report?.series.length) {
    byId("grid").replaceChildren();
    byId("grid-state").textContent = report ? "Available for single flows only: leave out the competing flow." : "";
    return;
  }
  background ??= new Asker();
  const maps = arms.map(gridMap);
  byId("grid").replaceChildren(...maps);
  const plan = { ...asked };
  let done = 0;
  for (const queue of QUEUES) {
    for (const rtt of RTTS) {
      const path = withKey(withKey(plan.path, "rtt", rtt), "queue", queue);
      const answer = await background.ask({ do: "compare", plan: { ...plan, path, limit: "60s", repeat: 1 } });
      if (run !== gridRun) return;
      done++;
      byId("grid-state").textContent = done < QUEUES.length * RTTS.length ? `${done} of ${QUEUES.length * RTTS.length} paths …` : "";
      const results = answer.ok ? JSON.parse(answer.text).results : [];
      maps.forEach((map, index) => fillCell(map.querySelector(`[data-cell="${queue} ${rtt}"]`), results[index], path));
    }
  }
  byId("grid").dataset.done = run;
}

// The hue stands for nothing: the stronger the slower, and the number says how much.
function fillCell(cell, row, path) {
  const value = row?.vs_ideal ?? null;
  const go = html("button", { type: "button", "aria-label": value === null ? "not finished" : `${number(value, 2)} times the ideal` }, value === null ? MISSING : number(value, 2));
  go.addEventListener("click", () => set("path", path));
  cell.replaceChildren(go);
  const share = value === null ? 100 : Math.min(100, Math.max(0, (Math.log(value) / Math.log(4)) * 100));
  cell.style.background = `color-mix(in oklab, var(--slow) ${Math.round(share)}%, var(--fast))`;
}
