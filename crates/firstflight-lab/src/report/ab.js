// The words and tables of an A/B test, and the page itself.

function lead() {
  byId("finding").textContent = report.finding;
  const state = analysis.complete ? "" : ` Incomplete: ${number(analysis.flows, 0)} of ${number(experiment.flows, 0)} ran.`;
  byId("lead").textContent =
    `${number(analysis.flows, 0)} connections drawn from ${report.about || experiment.population}, each simulated once per arm over the same path with the same object.${state}`;
}

function recommendation() {
  const { sentence, notes: more, worlds, assumptions } = analysis.decision;
  byId("recommendation").append(html("p", { class: "first" }, html("strong", {}, sentence)), ...more.map((line) => html("p", {}, line)));
  if (worlds.length > 1) {
    byId("recommendation").append(html("p", { class: "rests" }, `Nobody measured ${assumptions.join(" and ")}: all arms also ran under ${worlds.length - 1} other assumptions, on ${number(worlds[1].connections, 0)} connections each.`));
  }
  const unsure = [...new Set(report.sources.filter(({ status }) => status === "A" || status === "U").map(({ value }) => value))];
  if (unsure.length) {
    byId("recommendation").append(html("p", { class: "rests" }, `Also assumed, and not varied: ${unsure.join("; ")}. Put your own numbers into the population and run it again.`));
  }
}

function sentences() {
  for (const { arm: name, effects } of analysis.decision.arms) {
    const arm = armOf({ arm: name });
    const [{ time_pct: time, loss_points: loss, slower_pct: slower, queue_ms: queue }] = effects;
    const ends = (read) => { const values = effects.map(read); return [Math.min(...values), Math.max(...values)]; };
    const [least, most] = ends((effect) => effect.time_pct.value);
    const size = Math.abs(time.value);
    const sure = (time.low > 0 || time.high < 0) && size >= 0.05;
    const words = time.value > 0 ? "faster" : "slower";
    byId("sentences").append(html("li", { "data-arm-card": name },
      html("h3", { "data-tip": arm.full }, swatch(arm), name),
      html("p", { class: "big" }, sure ? `${number(size, 1)}${NARROW}% ` : "No difference ", html("small", {}, sure ? words : "beyond chance")),
      html("p", { class: "interval" }, `95 % interval ${number(time.low, 1)} … ${number(time.high, 1)}${NARROW}%`),
      effects.length > 1 ? html("p", { class: "interval" }, `${number(least, 0)} … ${number(most, 0)}${NARROW}% under all assumptions`) : null,
      html("p", { class: "cost" }, `${signed(loss.value, 2)} points of loss (${between(loss, 2)})`),
      html("p", { class: "cost" }, `${signed(queue.value, 0)} ms of queueing delay (p99)`),
      html("p", {}, `${number(slower.value, 1)}${NARROW}% of connections are over 5${NARROW}% slower`)));
  }
}

function worldsTable() {
  const { worlds, arms: rows } = analysis.decision;
  if (worlds.length < 2) return byId("worlds-part").remove();
  const range = (effect, digits) => html("td", { class: "figure", "data-is": effect.is }, number(effect.value, digits), html("small", { class: "spread" }, between(effect, digits)));
  const lines = worlds.flatMap(({ words, connections }, world) => rows.map(({ arm: name, effects }) => {
    const { time_pct: time, mean_pct: mean, p95_pct: tail, slower_pct: slower, loss_points: loss, queue_ms: queue } = effects[world];
    return html("tr", {}, html("th", { scope: "row", class: "name" }, words), html("td", {}, swatch(armOf({ arm: name })), name), html("td", { class: "figure" }, number(connections, 0)), range(time, 1), range(mean, 1), range(tail, 1), range(slower, 1), range(loss, 2), range(queue, 1));
  }));
  byId("worlds").append(grid(["Assumption", "Arm", "Connections", "faster %", "by mean %", "at p95 %", "over 5 % slower %", "more loss, points", "more queueing delay, ms"], lines, [0, 1]));
}

function notes() {
  for (const text of analysis.warnings) {
    byId("notes").append(html("p", { class: "note warning" }, html("strong", {}, "Warning "), text));
  }
}

const { check } = analysis.decision;

function overview() {
  facts(byId("facts"), [
    ["Population", experiment.population],
    ["Connections", number(analysis.flows, 0)],
    ["Baseline", experiment.arms[0]],
    ["Transport", `${experiment.transport.toUpperCase()}${experiment.detection ? `, ${experiment.detection}` : ""}`],
    ["Initial window", `${experiment.iw} packets`],
    ["Seed", String(experiment.seed)],
    ["A/A check", html("span", { class: check.passed ? "passed" : "failed" }, check.time_pct === null ? "too few pairs" : check.passed ? "passed" : "failed")],
  ]);
}

function grid(head, rows, names = []) {
  const headRow = html("tr", {}, ...head.map((text, i) => html("th", { scope: "col", class: names.includes(i) ? null : "figure" }, text)));
  return html("table", {}, html("thead", {}, headRow), html("tbody", {}, ...rows));
}

function advice() {
  const parts = partsOf("group").length > 1 ? partsOf("group") : partsOf("all");
  const describe = (entry) => [swatch(armOf(entry)), html("span", { class: "name" }, entry.arm), ` ${plain(entry.ttlb_ms.mean)}${NARROW}ms, ${plain(entry.loss_pct.mean)}${NARROW}% loss`];
  const least = (list, read) => list.reduce((best, entry) => (read(entry) < read(best) ? entry : best));
  const rows = parts.map((entries) => {
    const kept = entries.filter((entry) => entry.front);
    const fast = least(kept, (entry) => entry.ttlb_ms.mean);
    const gentle = least(kept, (entry) => entry.loss_pct.mean);
    const others = kept.filter((entry) => entry !== fast && entry !== gentle).map((entry) => entry.arm).join(", ");
    return html("tr", {}, html("th", { scope: "row", class: "name" }, entries[0].part === "all" ? "All" : entries[0].name), html("td", {}, ...describe(fast)), html("td", {}, ...(gentle === fast ? ["the same"] : describe(gentle))), html("td", {}, others || MISSING));
  });
  byId("advice").append(grid(["Group", "Fastest", "Least loss", "Between them"], rows, [0, 1, 2, 3]));
}

// --- The table -------------------------------------------------------------------------------------------------

// What decides, in the order of the terminal; the rest is shown on request.
const COLUMNS = [
  { key: "ttlb_ms.p50", label: "completion time p50", unit: "ms", words: "median over connections of the completion time (ttlb_ms)", value: (e) => [plain(e.ttlb_ms.p50.value, 4), between(e.ttlb_ms.p50, 0)] },
  { key: "ttlb_ms.p95", label: "p95", unit: "ms", words: "95th percentile over connections of the completion time", value: (e) => [plain(e.ttlb_ms.p95.value, 4), between(e.ttlb_ms.p95, 0)] },
  { key: "ttlb_ms.p99", label: "p99", unit: "ms", words: "99th percentile over connections of the completion time", value: (e) => [plain(e.ttlb_ms.p99.value, 4), between(e.ttlb_ms.p99, 0)] },
  { key: "reduction_pct.mean", label: "shorter by", unit: "% of mean", words: "1 − mean of the arm / mean of the baseline", value: (e) => e.versus_baseline && [number(e.versus_baseline.reduction_pct.mean.value, 1), between(e.versus_baseline.reduction_pct.mean, 1)] },
  { key: "paired.worse_pct", label: "over 5 % longer", unit: "% of connections", words: "connections that take over 5 % longer than with the baseline on the same path with the same object", value: (e) => e.versus_baseline && number(e.versus_baseline.paired.worse_pct, 1) },
  { key: "loss_pct.mean", label: "loss", unit: "mean %", words: "packets declared lost and truly dropped, of packets sent, per connection", value: (e) => number(e.loss_pct.mean, 2) },
  { key: "loss_points", label: "more loss", unit: "points", words: "mean loss less the baseline's", value: (e) => e.versus_baseline && [signed(e.versus_baseline.loss_points.value, 2), between(e.versus_baseline.loss_points, 2)] },
  { key: "queue_p99_ms", label: "queueing delay p99", unit: "mean ms", words: "mean over connections of the waiting time at the bottleneck that 99 % of the packets do not exceed: what others on the path feel", value: (e) => plain(e.queue_p99_ms, 3) },
];

const MORE_COLUMNS = [
  { key: "ttlb_ms.mean", label: "mean", unit: "ms", words: "from the first byte sent until the last one is delivered in order at the receiver; a transfer that did not finish counts with the limit", value: (e) => plain(e.ttlb_ms.mean, 4) },
  { key: "reduction_pct.percentiles, .median", label: "p1–p99, p50", unit: "% shorter", words: "mean over the percentiles 1 to 99 of the reduction of each, and the reduction of the median", value: (e) => e.versus_baseline && [number(e.versus_baseline.reduction_pct.percentiles, 1), number(e.versus_baseline.reduction_pct.median, 1)] },
  { key: "vs_ideal", label: "vs ideal", unit: "", words: "mean of completion time over the bound no sender beats: one-way delay plus bytes over bottleneck rate", value: (e) => number(e.vs_ideal, 2) },
  { key: "loss_pct.p50", label: "loss p50", unit: "%", words: "median over connections", value: (e) => [number(e.loss_pct.p50.value, 2), between(e.loss_pct.p50, 2)] },
  { key: "loss_pct.p90", label: "loss p90", unit: "%", words: "90th percentile over connections", value: (e) => [number(e.loss_pct.p90.value, 2), between(e.loss_pct.p90, 2)] },
  { key: "loss_pct.p99", label: "loss p99", unit: "%", words: "99th percentile over connections", value: (e) => [number(e.loss_pct.p99.value, 1), between(e.loss_pct.p99, 1)] },
  { key: "retransmitted_pct", label: "retransmitted", unit: "%", words: "object bytes retransmitted per byte of object", value: (e) => number(e.retransmitted_pct, 2) },
];

function entriesTable(columns) {
  const head = html("tr", {}, html("th", { scope: "col" }, html("span", { class: "head" }, "Arm")),
    ...columns.map((column) => html("th", { scope: "col" }, html("span", { class: "head", "data-tip": column.words, tabindex: 0 }, column.label, html("small", {}, column.unit)))));
  const rows = partsOf("all")[0].map((entry) => html("tr", { "data-row": entry.arm },
    html("th", { scope: "row", "data-tip": armOf(entry).full }, swatch(armOf(entry)), html("span", { class: "name" }, entry.arm)),
    ...columns.map((column) => {
      const value = column.value(entry);
      const [text, spread] = Array.isArray(value) ? value : [value, null];
      return html("td", { "data-column": column.key }, html("span", { class: "value" }, text ?? MISSING), spread ? html("small", { class: "spread" }, spread) : null);
    })));
  return html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows));
}

function table() {
  byId("table-box").append(entriesTable(COLUMNS));
  byId("more-columns").querySelector("div").append(entriesTable(MORE_COLUMNS));
  for (const { key, label, unit, words } of [...COLUMNS, ...MORE_COLUMNS]) {
    byId("columns").querySelector("dl").append(html("div", {}, html("dt", {}, `${label} ${unit}`.trim(), " ", html("code", {}, key)), html("dd", {}, words)));
  }
}

function pairs() {
  const ratio = (one) => [number(one.value, 3), html("small", { class: "spread" }, between(one, 3))];
  const rows = partsOf("all")[0].slice(1).map((entry) => {
    const { paired } = entry.versus_baseline;
    const cells = [paired.p50, paired.p75, paired.p90, paired.p95].map((one) => html("td", { class: "figure" }, ...ratio(one)));
    const shares = [paired.better_pct, paired.worse_pct, paired.same_pct].map((share) => html("td", { class: "figure" }, `${number(share, 1)}${NARROW}%`));
    return html("tr", {}, html("th", { scope: "row", class: "name" }, swatch(armOf(entry)), entry.arm), html("td", { class: "figure" }, number(paired.geometric_mean, 3)), ...cells, ...shares);
  });
  byId("pairs").append(grid(["Arm", "geometric mean", "p50", "p75", "p90", "p95", "over 5 % faster", "over 5 % slower", "exactly equal"], rows, [0]));
}

// --- Trust -----------------------------------------------------------------------------------------------------

function trust() {
  const range = (interval, unit) => `${signed(interval.value, 2)}${unit} [${between(interval, 2)}]`;
  const other = check.time_pct === null
    ? `The baseline against itself under other seeds: ${check.pairs} pairs are too few.`
    : `On ${number(check.pairs, 0)} connections the baseline ran against itself under two other seeds: ${range(check.time_pct, " % faster")}, ${range(check.loss_points, " points more loss")} (99 % intervals).`;
  const same = `On ${number(check.repeated, 0)} it ran again with the same seed: ${check.differed === 0 ? "every one came out the same to the last digit" : `${check.differed} CAME OUT DIFFERENTLY`}.`;
  byId("aa").append(html("strong", { class: check.passed ? "passed" : "failed" }, check.passed ? "A/A check passed. " : "A/A check failed. "), `${other} ${same}`);
  facts(byId("method"), [
    ["Means", analysis.method.means, "wide"],
    ["Quantiles", analysis.method.quantiles, "wide"],
    ["Many cells", analysis.method.many, "wide"],
    ["Assumptions", analysis.method.worlds, "wide"],
    ["Decision", analysis.method.decision, "wide"],
  ]);
  const rows = report.sources.map(({ value, status, reference }) => html("tr", {}, html("td", { class: `status status-${status}` }, status), html("th", { scope: "row" }, value), html("td", {}, reference)));
  byId("sources").append(grid(["", "Value", "Source"], rows, [0, 1, 2]));
  byId("toml").textContent = experiment.population_toml;
}

function words() {
  lead();
  recommendation();
  sentences();
  notes();
  overview();
  advice();
  table();
  pairs();
  worldsTable();
  trust();
  for (const legend of document.querySelectorAll("[data-legend]")) {
    legend.append(...arms.map((arm) => html("span", { "data-tip": arm.full }, swatch(arm), arm.arm)));
  }
  byId("command").textContent = report.command;
  facts(byId("provenance"), [
    ["Version", report.version],
    ["Testbed", experiment.testbed],
    ["Packets", `${experiment.packet_bytes} bytes, an ACK for every ${experiment.ack_every}, or after ${plain(experiment.max_ack_delay_ms)} ms`],
    ["Limit", `${plain(experiment.limit_s)} s of simulated time`],
    ...arms.map((arm) => [arm.arm, html("code", {}, arm.full)]),
  ]);
}

words();
fronts();
reductionCurve();
forests();
lossCurve();
finish();
