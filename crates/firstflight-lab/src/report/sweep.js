// The maps of a sweep: who is best where, and the values of every arm.

const { sweep, swept, judged } = report;
const experiment = sweep.experiment;
const ran = sweep.results.map((row) => row.trials);
const trials = { least: Math.min(...ran), most: Math.max(...ran) };
const arms = report.arms.map(({ arm, look }, index) => ({
  arm,
  full: experiment.arms[index],
  ...lookOf(look),
}));
const across = swept.at(-1);
const down = swept.length > 1 ? swept[0] : null;
const columns = across.values.length;
const points = judged[0].points.length;

// Shares of an arm's colour in a cell, from no margin to a very large one: text stays readable on all of them.
const SHARES = [6, 12, 19, 26, 34];
// Of the largest value's cell.
const MOST_SHARE = 34;

const MEASURES = [
  { key: "ttlb_ms", label: "completion time", value: (v) => time(v) },
  { key: "vs_ideal", label: "vs ideal", value: (v) => number(v, 2) },
  { key: "loss_ratio", label: "loss", value: (v) => `${number(100 * v, 2)}${NARROW}%` },
  { key: "retransmitted_bytes", label: "retransmitted", value: (v) => bytes(v) },
  { key: "queue_p99_ms", label: "queueing delay p99", value: (v) => time(v, 3) },
  { key: "exit_bdp", label: "cwnd at exit", value: (v) => `${number(v, 2)}${NARROW}BDP` },
];

// The row of an arm at a point. Points that were not reached have none; those that were come in order.
const placeOf = (row) => {
  const at = (axis) => axis.values.indexOf(row[axis.key]);
  return (down ? at(down) * columns : 0) + at(across);
};
const rows = new Map(sweep.results.map((row) => [`${placeOf(row)} ${row.arm_full} ${row.arm}`, row]));
const rowOf = (arm, point) => rows.get(`${point} ${arm.full} ${arm.arm}`);

// A table with the values of the last key across; `lines` are its rows: a heading and the cells.
function grid(corner, lines) {
  const head = html("tr", {}, html("th", { scope: "col" }, corner), ...across.values.map((value) => html("th", { scope: "col" }, value)));
  const body = lines.map(([name, cells]) => html("tr", {}, html("th", { scope: "row" }, ...name), ...cells));
  return html("div", { class: "scroll", tabindex: 0 }, html("table", {}, html("thead", {}, head), html("tbody", {}, ...body)));
}

function panel(name, table, tip) {
  return html("div", { class: "map" }, html("h3", { "data-tip": tip }, ...name), table);
}

// Lines of a map with the values of the first key down; of one line where there is only one key.
const lines = (cell) => (down ? down.values : [""]).map((value, line) => [[value], across.values.map((_, column) => cell(line * columns + column))]);
const corner = down ? `${down.key} / ${across.key}` : across.key;

function best(measure) {
  const cell = (point) => {
    const found = measure.points[point];
    if (!found) return html("td", {}, MISSING);
    if (found.margin === null) return html("td", {}, html("span", { class: "who" }, "all the same"));
    const who = found.arms.map((index) => arms[index]);
    const style = `--cell: ${who[0].colour}; --share: ${SHARES[found.level]}`;
    const margin = `${number(found.margin, found.margin < 9.95 ? 1 : 0)}${NARROW}${measure.margin_unit}`;
    return html("td", { style }, swatch(who[0]), html("span", { class: "who" }, ...who.flatMap(({ arm }, i) => [i ? ", " : null, html("span", {}, arm)])), html("small", {}, margin));
  };
  return panel([measure.label], grid(corner, lines(cell)));
}

// Share of the accent colour by where a value lies between the smallest and the largest, in logarithms where all are above 0.
function shares(key) {
  const values = sweep.results.map((row) => row[key]?.value).filter((value) => value !== undefined);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const place = low > 0 ? Math.log : (value) => value;
  const span = place(high) - place(low);
  return (value) => (span > 0 ? (MOST_SHARE * (place(value) - place(low))) / span : 0);
}

function values(measure) {
  const share = shares(measure.key);
  const cell = (arm) => (point) => {
    const row = rowOf(arm, point);
    const found = row?.[measure.key];
    if (!found) return html("td", {}, MISSING);
    const spread = row.trials > 1 ? html("small", {}, `${measure.value(found.low)}–${measure.value(found.high)}`) : null;
    const partial = row.finished < row.trials ? html("small", {}, `${row.finished} of ${row.trials} finished`) : null;
    return html("td", { style: `--cell: var(--accent); --share: ${share(found.value).toFixed(1)}` }, measure.value(found.value), spread, partial);
  };
  if (down) return arms.map((arm) => panel([swatch(arm), arm.arm], grid(corner, lines(cell(arm))), arm.full));
  const all = arms.map((arm) => [[swatch(arm), arm.arm], across.values.map((_, point) => cell(arm)(point))]);
  return [panel([measure.label], grid(`arm / ${across.key}`, all))];
}

function show(measure) {
  for (const button of byId("measures").children) button.setAttribute("aria-pressed", String(button.textContent === measure.label));
  byId("arms").replaceChildren(...values(measure));
}

function words() {
  const through = sweep.points_through < points ? ` Stopped: ${sweep.points_through} of ${points} points.` : "";
  const size = experiment.bytes ? `${bytes(experiment.bytes)} ` : "Objects ";
  byId("lead").textContent = `${size}over ${experiment.base_path}, with ${swept.map(({ key, values }) => `${values.length} values of ${key}`).join(" and ")}: every arm meets the same seeds at each of ${plural(points, "point")}.${through}`;
  byId("finding").textContent = sweep.finding;
  for (const text of sweep.warnings) byId("notes").append(html("p", { class: "note warning" }, html("strong", {}, "Warning "), text));
  facts(byId("facts"), [
    ["Path", experiment.base_path],
    ["Object", experiment.bytes ? bytes(experiment.bytes) : null],
    ...swept.map(({ key, values }) => [key, values.length > 1 ? `${values[0]} to ${values.at(-1)}` : values[0]]),
    ["Transport", experiment.transport.toUpperCase()],
    ["Initial window", `${experiment.iw} packets`],
    ["Seed", String(experiment.seed)],
    ["Trials", `${trials.least === trials.most ? trials.most : `${trials.least} to ${trials.most}`} per arm and point`],
  ]);
  for (const legend of document.querySelectorAll("[data-legend]")) {
    legend.append(...arms.map((arm) => html("span", { "data-tip": arm.full }, swatch(arm), arm.arm)));
  }
  byId("command").textContent = report.command;
  facts(byId("provenance"), [
    ["Version", report.version],
    ["Testbed", experiment.testbed],
    ["Packets", `${experiment.packet_bytes} bytes`],
    ["Limit", `${plain(experiment.limit_s)} s of simulated time`],
    ...arms.map((arm) => [arm.arm, html("code", {}, arm.full)]),
  ]);
}

words();
byId("maps").append(...judged.map(best));
if (!down || columns > 7) for (const id of ["maps", "arms"]) byId(id).classList.add("one");
const known = MEASURES.filter(({ key }) => sweep.results.some((row) => row[key]));
for (const measure of known) {
  const button = html("button", { type: "button", "aria-pressed": "false" }, measure.label);
  button.addEventListener("click", () => show(measure));
  byId("measures").append(button);
}
show(known[0]);
finish();
