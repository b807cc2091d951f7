// The page of a diff: changes as ratios in a picture, and as numbers with their intervals in tables.

const { diff } = report;
const arms = report.arms.map(([arm, look]) => ({ arm, colour: `var(--arm-${look % COLOURS})`, shape: SHAPES[look % SHAPES.length] }));
const armOf = (name) => arms.find(({ arm }) => arm === name);
const changes = diff.changes.map((change, i) => ({ ...change, difference: report.differences[i] }));
// Of a test the picture shows the whole, of several paths the first.
const first = changes.find(({ of }) => of === "all")?.of ?? changes[0]?.of;
const LANE = 11;
const MOST_MEASURES = 10;
const label = ({ measure }) => report.labels[measure] ?? measure;

function words() {
  byId("finding").textContent = report.finding;
  byId("lead").textContent = `Before: ${report.before}. After: ${report.after}.`;
  byId("changes-how").textContent =
    "Pairs share arm and seed. The difference is after minus before, with its 95 % interval if there are several pairs or an A/B test; “unclear” means that intervals overlap.";
  for (const legend of document.querySelectorAll("[data-legend]")) legend.append(...arms.map((arm) => html("span", {}, swatch(arm), arm.arm)));
  byId("alone").textContent = diff.alone.length ? `Only in one of the results: ${diff.alone.join(", ")}` : "";
  byId("command").textContent = report.command;
  if (!diff.settings.length) return byId("set").remove();
  const rows = diff.settings.map(({ name, before, after }) => html("tr", {}, html("th", { scope: "row" }, name), ...[before, after].map((text) => html("td", {}, text))));
  byId("setting-table").append(html("table", {}, html("thead", {}, html("tr", {}, ...["Setting", "before", "after"].map((text) => html("th", { scope: "col" }, text)))), html("tbody", {}, ...rows)));
}

const percent = ({ change_pct: change }) => (change === null ? MISSING : `${signed(change, 1)}${NARROW}%`);

function picture() {
  const shown = changes.filter(({ of, sense, before, after }) => of === first && sense !== "other" && before > 0 && after > 0);
  if (!shown.length) return;
  // The completion time comes first, then what changed most.
  const moved = (measure) => Math.max(...shown.filter((change) => change.measure === measure).map(({ before, after }) => Math.abs(Math.log(after / before))));
  const [head, ...others] = [...new Set(shown.map(({ measure }) => measure))];
  const measures = [head, ...others.toSorted((a, b) => moved(b) - moved(a)).slice(0, MOST_MEASURES - 1)];
  const ratios = shown.filter(({ measure }) => measures.includes(measure)).map(({ before, after }) => after / before);
  const reach = Math.max(1.05, ...ratios, ...ratios.map((ratio) => 1 / ratio)) ** 1.08;
  const height = arms.length * LANE + 28;
  figure(byId("picture"), {
    name: `After over before${new Set(changes.map(({ of }) => of)).size > 1 ? `: ${first}` : ""}`,
    how: "A mark for each arm; on the line at 1 nothing changed, and equal factors are equally far apart. The completion time first, then what changed most of what has a better end.",
    height: () => 22 + measures.length * height + 40,
    says: () => shown.map((change) => `${label(change)} of ${change.arm} ${percent(change)}`).join(", "),
    draw(drawn, width) {
      const [left, right, top, bottom] = [12, width - 14, 22, 22 + measures.length * height];
      const x = byFactor(1 / reach, reach, left + 10, right - 10);
      const near = reach < 1.6 ? ticks(1 / reach, reach, width < 480 ? 4 : 8).list : factors(1 / reach, reach, width < 480 ? 4 : 9);
      measures.forEach((_, i) => i % 2 === 0 && drawn.append(svg("rect", { x: 0, y: top + i * height, width, height, class: "stripe" })));
      axes(drawn, { x, y: (value) => value, left, right, top, bottom, xTicks: near, yTicks: [], xText: (value) => String(Number(value.toPrecision(3))), yText: String, xLabel: "after over before" });
      drawn.append(svg("path", { d: `M${round(x(1))} ${top}V${bottom}`, class: "zero" }));
      measures.forEach((measure, row) => {
        drawn.append(svg("text", { x: left, y: top + row * height + 14, class: "row-name" }, label({ measure })));
        shown.filter((change) => change.measure === measure).forEach((change) => {
          const lane = arms.indexOf(armOf(change.arm));
          const sign = mark(armOf(change.arm), x(change.after / change.before), top + row * height + 25 + lane * LANE, 4.4);
          sign.setAttribute("data-tip", `${label(change)} of ${change.arm}: ${plain(change.before, 4)} → ${plain(change.after, 4)}, ${percent(change)}`);
          drawn.append(sign);
        });
      });
    },
  });
}

function verdict({ sense, pairs, changed }) {
  const word = sense === "other" ? "" : sense;
  return html("td", { class: "word" }, html("span", { class: sense }, word), pairs > 1 ? ` in ${changed} of ${pairs}` : null);
}

function tables() {
  const parts = [...new Set(changes.map(({ of }) => of))];
  for (const of of parts) {
    const mine = changes.filter((change) => change.of === of);
    let last = null;
    const rows = mine.map((change) => {
      const arm = change.arm === last ? null : armOf(change.arm);
      last = change.arm;
      const { difference } = change;
      return html("tr", {},
        html("th", { scope: "row" }, arm ? swatch(arm) : null, html("span", { class: arm ? "name" : "visually-hidden" }, change.arm)),
        html("td", { class: "word" }, label(change)), ...[change.before, change.after].map((value) => html("td", {}, value === null ? MISSING : plain(value, 4))),
        html("td", {}, percent(change)),
        html("td", {}, difference ? signed(difference.value, decimalsFor(difference.value, 3)) : change.before === null || change.after === null ? MISSING : signed(change.after - change.before, decimalsFor(change.after - change.before, 3)),
          difference ? html("small", { class: "spread" }, `${plain(difference.low)} … ${plain(difference.high)}`) : null),
        verdict(change));
    });
    const columns = [["Arm"], ["measure"], ["before"], ["after"], ["change", "%"], ["difference", "95 % interval"], ["verdict"]];
    const box = html("div", { class: "scroll table-box", tabindex: 0, role: "region", "aria-label": `Changes on ${of}` }, rowsTable(columns, rows));
    // A test has many parts; the whole is open, the others on demand.
    if (of === first) byId("tables").append(parts.length > 1 ? html("h3", { class: "of" }, of) : null ?? "", box);
    else byId("tables").append(html("details", { class: "columns" }, html("summary", {}, `${of} (${mine.length})`), box));
  }
}

words();
picture();
tables();
finish();
