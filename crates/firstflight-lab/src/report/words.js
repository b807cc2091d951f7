// The words around the charts: lead, path, notes, table, and one paragraph per arm.

function lead() {
  const { path } = report;
  const where = path.name ? `the path “${path.name}”` : "one path";
  byId("finding").textContent = report.finding;
  byId("lead").textContent =
    `${plural(report.table.rows.length || arms.length, "arm")}, each sending ${bytes(report.workload_bytes)} over ${where} ` +
    `(${path.rate_mbps === null ? "a changing rate" : rate(path.rate_mbps)}, ${time(path.rtt_ms)} round trip) ` +
    `${report.place}`.trim() + ".";
  const seeds = report.repeat > 1 ? `seeds ${report.seed} to ${report.seed + report.repeat - 1}` : `seed ${report.seed}`;
  byId("table-how").textContent = report.repeat > 1
    ? `Medians of ${plural(report.repeat, "trial")} (${seeds}); below each, the smallest and the largest, and below a time against the first arm its 95 % interval. All arms met the same path and the same seeds. ★ is the best of its column; ≈ cannot be told from it.`
    : `One trial per arm (${seeds}), on the same path.`;
  byId("series-how").textContent = (report.repeat > 1 ? `These are the trials with seed ${report.seed}. ` : "") +
    "Times count from the first data byte sent. All charts share one time axis.";
}

function paths() {
  const { path } = report;
  const queue = path.queue_bytes === null ? "no limit" : bytes(path.queue_bytes, 4) + (report.path.rate_mbps ? ` (${time(asTime(path.queue_bytes), 3)})` : "");
  facts(byId("facts"), [
    ["Rate", rate(path.rate_mbps)],
    ["Round trip", time(path.rtt_ms)],
    ["Queue", queue],
    ["BDP", path.bdp_bytes && bytes(path.bdp_bytes, 4)],
    ["BDP + queue", path.full_bdp_bytes && bytes(path.full_bdp_bytes, 4)],
    ["Object", bytes(report.workload_bytes, 4)],
    ["Path", html("code", {}, path.text), "wide"],
    ["Source", path.source, "wide"],
  ]);
}

function notes() {
  for (const { level, text } of report.notes) {
    byId("notes").append(html("p", { class: `note ${level}` }, html("strong", {}, level === "warning" ? "Warning " : "Note "), text));
  }
}

// --- The table -------------------------------------------------------------------------------------------------

const order = { column: null, down: false };

// Four significant digits, and one more where values that differ would look the same.
function columnDecimals(index) {
  const values = report.table.rows.map((row) => row.values[index]).filter((value) => typeof value === "number");
  if (values.every(Number.isInteger)) return 0;
  const decimals = decimalsFor(Math.max(...values.map(Math.abs)), 4);
  const looks = (places) => new Set(values.map((value) => value.toFixed(places))).size;
  return looks(decimals + 1) > looks(decimals) ? decimals + 1 : decimals;
}

// The unit once where both ends have it: 1.085 – 1.093 MB.
function range(low, high) {
  const unit = (text) => text.match(/\u202f?[a-zA-Z]+$/)?.[0] ?? "";
  return `${unit(low) === unit(high) ? low.slice(0, low.length - unit(low).length) : low} – ${high}`;
}

function cell(column, index, row, decimals) {
  const show = (value) => (column.unit === "bytes" ? bytes(value, 4) : number(value, decimals));
  const value = row.values[index];
  const spread = row.spread[index];
  const best = row.best.includes(column.key);
  const near = row.near.includes(column.key);
  const td = html("td", { class: best ? "best" : null, "data-column": column.key, "data-best": best ? "" : null });
  if (typeof value === "number") td.append(html("span", { class: "value" }, show(value)));
  else td.append(html("span", { class: "word" }, value ?? MISSING));
  if (best) td.append(html("span", { class: "star", title: "best of its column" }, html("span", { "aria-hidden": "true" }, "★"), html("span", { class: "visually-hidden" }, " best")));
  if (near) td.append(html("span", { class: "star", title: "not distinguishable from the best" }, html("span", { "aria-hidden": "true" }, "≈"), html("span", { class: "visually-hidden" }, " not distinguishable from the best")));
  if (spread && spread.low !== spread.high) td.append(html("small", { class: "spread" }, range(show(spread.low), show(spread.high))));
  return td;
}

function sortedRows() {
  if (order.column === null) return report.table.rows;
  const sign = order.down ? -1 : 1;
  // Words and gaps go last whichever way the numbers run.
  const key = (row) => row.values[order.column];
  return report.table.rows.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    if (typeof x === "number") return -1;
    if (typeof y === "number") return 1;
    return String(x).localeCompare(String(y)) * sign;
  });
}

function headCell(column, index) {
  const sorted = order.column === index;
  const label = html("button", { type: "button", class: "head", "data-tip": column.explanation }, column.label,
    html("small", {}, column.unit && column.unit !== "bytes" ? column.unit : "", sorted ? (order.down ? " ↓" : " ↑") : ""));
  label.addEventListener("click", () => {
    order.down = sorted ? !order.down : column.better === "high";
    order.column = index;
    table();
    byId("table-box").querySelectorAll("th button")[index].focus();
  });
  return html("th", { scope: "col", "aria-sort": sorted ? (order.down ? "descending" : "ascending") : null }, label);
}

function table() {
  const { columns } = report.table;
  const decimals = columns.map((_, index) => columnDecimals(index));
  const head = html("tr", {}, html("th", { scope: "col" }, html("span", { class: "head" }, "Arm")), ...columns.map(headCell));
  const body = sortedRows().map((row) => {
    const arm = arms.find((one) => one.arm === row.arm);
    return html("tr", { "data-row": row.arm },
      html("th", { scope: "row", "data-tip": row.arm_full }, arm ? swatch(arm) : null, html("span", { class: "name" }, row.arm)),
      ...columns.map((column, index) => cell(column, index, row, decimals[index])));
  });
  byId("table-box").replaceChildren(html("table", {}, html("thead", {}, head), html("tbody", {}, ...body)));
}

function columnWords() {
  const list = byId("columns").querySelector("dl");
  const good = { low: "Less is better.", high: "More is better.", none: "" };
  for (const { label, key, explanation, better } of report.table.columns) {
    list.append(html("div", {}, html("dt", {}, label, " ", html("code", {}, key)), html("dd", {}, `${explanation} ${good[better]}`.trim())));
  }
}

// --- The arms --------------------------------------------------------------------------------------------------

function exitLine(arm) {
  const { exit } = arm;
  if (!arm.points.t_ms.length) return html("p", {}, "There is no time series of this arm.");
  if (!exit) return html("p", {}, `Never exited slow start: the transfer ended first, after ${time(endOf(arm))}.`);
  const ratio = exit.bdp_ratio === null ? "" : `, ${plain(exit.bdp_ratio, 3)} times the BDP`;
  const because = exit.because ? ` because ${exit.because}` : "";
  return html("p", {}, `Left startup after ${time(exit.time_ms)}${because} (`, html("code", {}, exit.reason), `), with a window of ${bytes(exit.cwnd)}${ratio}.`);
}

const SHOWN_EPISODES = 8;

function episodeTable(arm) {
  const head = ["When", "Window", "Lost", "Silence"].map((name) => html("th", { scope: "col" }, name));
  const rows = arm.episodes.map((one) => html("tr", {},
    html("td", {}, one.end_ms === null ? `${time(one.start_ms)} – end` : range(time(one.start_ms), time(one.end_ms))),
    html("td", {}, `${bytes(one.cwnd_before)} → ${bytes(one.cwnd_after)}`),
    html("td", {}, bytes(one.lost_bytes)),
    html("td", {}, time(one.silence_ms, 3))));
  const make = (part, name) => html("table", { class: "episodes" }, html("caption", { class: "visually-hidden" }, name), html("thead", {}, html("tr", {}, ...head.map((th) => th.cloneNode(true)))), html("tbody", {}, ...part));
  const out = [html("div", { class: "scroll" }, make(rows.slice(0, SHOWN_EPISODES), `Recovery episodes of ${arm.arm}`))];
  const more = rows.slice(SHOWN_EPISODES);
  if (more.length) out.push(html("details", {}, html("summary", {}, `${plural(more.length, "more episode")}`), html("div", { class: "scroll" }, make(more, `Further recovery episodes of ${arm.arm}`))));
  return out;
}

function armCards() {
  for (const arm of arms) {
    const row = report.table.rows.find((one) => one.arm === arm.arm);
    const total = Math.max(arm.episodes_total ?? 0, arm.episodes.length);
    const recovered = total === 0
      ? "No recovery: it never had to."
      : `${plural(total, "recovery episode")}${total > arm.episodes.length ? `, of which the first ${arm.episodes.length} are listed` : ""}:`;
    byId("arms").append(html("article", { "data-arm-card": arm.arm },
      html("h3", {}, swatch(arm), arm.arm),
      row ? html("p", { class: "arm-full" }, html("code", {}, row.arm_full)) : null,
      exitLine(arm),
      html("p", {}, recovered),
      ...(arm.episodes.length ? episodeTable(arm) : [])));
  }
}

function words() {
  lead();
  notes();
  paths();
  table();
  columnWords();
  armCards();
  byId("command").textContent = report.command;
  facts(byId("provenance"), [["Version", report.version], ["Testbed", report.testbed], ["Seed", String(report.seed)], ["Trials per arm", String(report.repeat)], ...report.provenance.map(({ name, value }) => [name, value])]);
}
