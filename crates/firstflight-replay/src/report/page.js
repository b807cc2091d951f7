// The page of a replay: the finding, the exits of every startup beside what fills the path, and the course of connections.

const VERDICTS = { early: "too early", right: "right", late: "too late", silent: "not within the trace" };
const arms = report.arms.map(({ arm, look }) => ({ arm, look, ...lookOf(look) }));
const armOf = (name) => arms.find(({ arm }) => arm === name);
const [EARLY, LATE] = report.right_bdp;

// --- Words and tables ------------------------------------------------------------------------------------------

function words() {
  byId("finding").textContent = report.finding;
  byId("lead").textContent =
    `${report.count === 1 ? "The recorded ACKs of one connection" : `The recorded ACKs of ${number(report.count, 0)} connections`}, given to ${plural(arms.length, "algorithm")}. ` +
    "Open loop: these algorithms did not control the sender, so this shows when each would have exited, not how long a download would then have taken. `firstflight advise` with the same files answers that.".replaceAll("`", "");
  for (const fault of report.faults) {
    byId("notes").append(html("p", { class: "note warning" }, html("strong", {}, "Read in part "), fault));
  }
  for (const note of report.notes) byId("notes").append(html("p", { class: "note" }, note));
  byId("verdicts-how").textContent =
    `Early: cwnd at exit below ${EARLY} BDP, so the path is not filled. Right: up to ${LATE} BDP. Late: above, or only on a loss. Silent: no exit within the trace. ` +
    "BDP: the best sustained delivery rate times the smallest RTT of the connection.";
  for (const legend of document.querySelectorAll("[data-legend]")) legend.append(...arms.map((arm) => html("span", {}, swatch(arm), arm.arm)));
  byId("command").textContent = report.command;
}

// Verdicts have the colours of the chart.
function tableBox(name, text) {
  const box = html("div", { class: "scroll table-box", tabindex: 0, role: "region", "aria-label": name });
  box.innerHTML = text;
  sign(box, arms);
  for (const cell of box.querySelectorAll("td")) {
    const word = cell.firstChild?.textContent;
    if (VERDICTS[word]) cell.classList.add("v", word);
  }
  return box;
}

// --- All exits in one picture ----------------------------------------------------------------------------------

const ROW = 40;

function exitChart() {
  const found = arms.map((arm) => ({
    arm,
    ratios: report.connections.flatMap((row) => row.startups.filter((one) => one.arm === arm.arm && one.bdp_ratio !== null).map((one) => [one.bdp_ratio, row.name, one.verdict])),
  }));
  const all = found.flatMap(({ ratios }) => ratios.map(([ratio]) => ratio));
  if (!all.length) return;
  const median = (list) => list.map(([ratio]) => ratio).toSorted((a, b) => a - b)[list.length >> 1];
  figure(byId("exits"), {
    name: "cwnd at exit over BDP",
    how: report.count === 1 ? "Within the green band the window fills the path and the queue stays short." : "A mark for each connection, a large one at the median. Within the green band the window fills the path and the queue stays short.",
    height: () => 34 + arms.length * ROW + 44,
    says: () => found.map(({ arm, ratios }) => `${arm.arm} ${ratios.length ? plain(median(ratios)) : "not within the trace"}`).join(", "),
    draw(picture, width) {
      const [left, right, top, bottom] = [12, width - 14, 34, 34 + arms.length * ROW];
      const x = byFactor(Math.min(EARLY / 2, ...all) / 1.15, Math.max(LATE * 2, ...all) * 1.15, left + 8, right);
      const band = [x(EARLY), x(LATE)].map(round);
      picture.append(svg("rect", { x: band[0], y: top - 4, width: band[1] - band[0], height: bottom - top + 4, class: "right-band" }));
      axes(picture, { x, y: (value) => value, left, right, top, bottom, xTicks: factors(x.from, x.to, width < 480 ? 4 : 9), yTicks: [], xText: (value) => String(Number(value.toPrecision(3))), yText: String, xLabel: "cwnd at exit over BDP, equal factors equally far apart" });
      [[band[0], EARLY], [band[1], LATE]].forEach(([at]) => picture.append(svg("path", { d: `M${at} ${top - 4}V${bottom}`, class: "reference" })));
      // Where exits come a thousand times too late the rest is narrow.
      if (band[0] > 70) picture.append(svg("text", { x: band[0] - 8, y: top - 12, "text-anchor": "end", class: "reference-name" }, "too early"));
      picture.append(svg("text", { x: (band[0] + band[1]) / 2, y: top - 12, "text-anchor": "middle", class: "reference-name" }, "right"),
        svg("text", { x: band[1] + 8, y: top - 12, class: "reference-name" }, "too late"));
      found.forEach(({ arm, ratios }, index) => {
        const middle = top + index * ROW + 27;
        picture.append(svg("text", { x: left, y: top + index * ROW + 13, class: "row-name" }, `${arm.arm}${ratios.length ? "" : ": not within the trace"}`));
        ratios.forEach(([ratio, name, verdict]) => {
          const dot = mark(arm, x(ratio), middle, ratios.length > 1 ? 4 : 5.5, ratios.length > 1 ? { opacity: 0.6, "stroke-width": 0 } : {});
          dot.setAttribute("data-tip", `${arm.arm} on ${name}: ${plain(ratio)} BDP, ${VERDICTS[verdict]}`);
          picture.append(dot);
        });
        if (ratios.length > 1) picture.append(mark(arm, x(median(ratios)), middle, 7));
      });
    },
  });
}

// --- The course of a connection --------------------------------------------------------------------------------

function polyline(times, values, x, y) {
  let [d, open] = ["", false];
  values.forEach((value, i) => {
    if (value !== null) d += `${open ? "L" : "M"}${round(x(times[i]))} ${round(y(value))}`;
    open = value !== null;
  });
  return d;
}

const largest = (list) => list.reduce((most, value) => (value > most ? value : most), 0);

// A chart over the time of a connection. `lines` are [values, attributes], `samples` pairs, `level` a [value, name].
/** What values of up to `most` are counted in on an axis, and what that is called. */
function counted(unit, most) {
  if (unit === "bytes") return byteUnit(most);
  if (unit !== "" || most < 1e5) return [1, unit];
  return most < 1e8 ? [1e3, "thousands"] : [1e6, "millions"];
}

function course(parent, line, { name, how, unit, height, log, least, lines = [], times = line.t_ms, samples = [], level, exits = [], heights = [] }) {
  const values = [...lines.flatMap(([list]) => list), ...samples.map(([, value]) => value)].filter((value) => value !== null && value < 2 ** 40);
  const top_of = Math.max(largest(values), level?.[0] ?? 0) || 1;
  const state = {};
  const tall = (width) => (width < 560 ? Math.round(height * 0.86) : height);
  const [step, shownUnit] = counted(unit, top_of);
  const plot = figure(parent, {
    name, how, height: tall,
    says: () => `up to ${trimmed(top_of / step, 3)} ${shownUnit}; ${exits.map((one) => `${one.arm} exits at ${time(one.time_ms)}`).join(", ")}`,
    draw(picture, width, high) {
      const [left, right, top, bottom] = [58, width - 14, 30, high - 42];
      const x = scale(0, line.to_ms, left, right);
      const y = log ? byFactor(Math.max(least ?? 0, top_of / 1e5), top_of * 1.3, bottom, top) : scale(0, top_of * 1.08, bottom, top);
      const marks = ticks(0, y.to / step, (bottom - top) / 44);
      const seconds = line.to_ms > 10000 ? 1000 : 1;
      const when = ticks(0, line.to_ms / seconds, (right - left) / 76);
      axes(picture, {
        x, y, left, right, top, bottom,
        xTicks: when.list.map((value) => value * seconds), xText: (value) => number(value / seconds, when.decimals), xLabel: `time since the first data byte, ${seconds > 1 ? "s" : "ms"}`,
        yTicks: log ? factors(y.from, y.to, 6) : marks.list.map((value) => value * step),
        yText: (value) => (log ? (unit === "bytes" ? bytes(value, 1) : String(Number(value.toPrecision(1)))) : number(value / step, marks.decimals)),
        yLabel: log && unit === "bytes" ? "bytes" : shownUnit,
      });
      picture.append(svg("path", { class: "samples", d: samples.map(([when, value]) => `M${round(x(when) - 1)} ${round(y(value) - 1)}h2v2h-2z`).join("") }));
      for (const [list, attributes] of lines) picture.append(svg("path", { ...attributes, class: `line ${attributes.class ?? ""}`, d: polyline(times, list, x, y) }));
      if (level?.[0]) {
        picture.append(svg("path", { d: `M${left} ${round(y(level[0]))}H${right}`, class: "reference" }),
          svg("text", { x: right - 4, y: round(y(level[0])) - 5, "text-anchor": "end", class: "reference-name" }, level[1]));
      }
      picture.append(svg("path", { class: "lost", d: line.losses_ms.map((when) => `M${round(x(when))} ${bottom}v-7`).join("") }));
      exits.forEach((one, index) => {
        const [arm, px] = [armOf(one.arm), round(x(one.time_ms))];
        picture.append(svg("path", { d: `M${px} ${top}V${bottom}`, class: "exit-line", stroke: arm.colour }));
        const sign = mark(arm, px, heights[index] ? y(heights[index]) : top - 6, 5);
        sign.setAttribute("data-tip", `${one.arm} exits at ${time(one.time_ms)} (${one.reason}): ${VERDICTS[one.verdict]}`);
        picture.append(sign);
      });
      Object.assign(state, { x, top, bottom });
    },
  });
  return { plot, state };
}

// The reading line through all charts of a connection, and what each quantity is there.
function reads(line, row, charts) {
  const section = charts[0].plot.closest("section");
  const hide = () => {
    byId("reading").hidden = true;
    for (const { plot } of charts) plot.querySelector(".crosshair")?.remove();
  };
  const show = (event) => {
    const chart = charts.find(({ plot }) => plot.contains(event.target));
    hide();
    if (!chart) return;
    const t = Math.min(line.to_ms, Math.max(0, chart.state.x.back(event.clientX - chart.plot.getBoundingClientRect().left - 1)));
    for (const { plot, state } of charts) plot.querySelector("svg").append(svg("path", { d: `M${round(state.x(t))} ${state.top}V${state.bottom}`, class: "crosshair" }));
    const i = at(line.t_ms, t);
    if (i < 0) return;
    const entry = (swatched, name, value) => html("tr", {}, html("th", { scope: "row" }, swatched, html("span", { class: "name" }, name)), html("td", {}, value));
    const r = at(line.rates.map(([when]) => when), t);
    const windows = row.startups.map((one, k) => (line.cwnds[k]?.[i] === undefined || line.cwnds[k][i] === null ? null : entry(swatch(armOf(one.arm)), one.arm, bytes(line.cwnds[k][i]))));
    showReading(event, time(t), [
      entry(null, "RTT", line.rtt_ms[i] === null ? MISSING : time(line.rtt_ms[i])),
      entry(null, "Delivery rate", r < 0 ? MISSING : rate(line.rates[r][1])),
      entry(null, "In flight", bytes(line.inflight[i])),
      ...windows.filter(Boolean),
    ]);
  };
  section.addEventListener("pointermove", show);
  section.addEventListener("pointerleave", hide);
}

function facts_of(row, line) {
  return [
    ["Recorded by", row.origin],
    ["Delivered", `${bytes(row.bytes)} over ${row.transport.toUpperCase()} in ${time(row.duration_ms)}, ${plural(row.acks, "ACK")}`],
    ["Smallest RTT", time(row.min_rtt_ms)],
    ["Median RTT", time(row.rtt_p50_ms)],
    ["Best sustained rate", row.best_rate_mbps === null ? null : `${row.rate_is_lower_bound ? "at least " : ""}${rate(row.best_rate_mbps)} of payload`],
    ["BDP", bytes(row.bdp_bytes)],
    ["Lost", row.loss_ratio === null ? "not known" : `${number(100 * row.loss_ratio, 2)}${NARROW}%`],
    ["Losses that were none", row.spurious > 0 ? number(row.spurious, 0) : null],
    ["Sender's own estimate", row.sender.bandwidth_mbps === null ? null : rate(row.sender.bandwidth_mbps)],
    ["Sender's pacing rate", row.sender.pacing_mbps === null ? null : `up to ${rate(row.sender.pacing_mbps)}`],
    ["Sender's ssthresh", row.sender.ssthresh === null ? null : bytes(row.sender.ssthresh)],
    ["Drawn", line.to_ms < row.duration_ms - 1 ? `the first ${time(line.to_ms)}` : null],
  ];
}

function connection(line) {
  const row = report.connections[line.connection];
  const [list, charts] = [html("dl", { class: "facts" }), html("div", {})];
  facts(list, facts_of(row, line));
  const section = html("section", { class: "course" }, html("h2", {}, row.name), list, ...row.findings.map(({ text }) => html("p", { class: "note" }, text)),
    tableBox(`Exits on ${row.name}`, report.tables.startups[report.lines.indexOf(line)]), html("div", { class: "legend" }, ...row.startups.map((one) => html("span", {}, swatch(armOf(one.arm)), one.arm))), charts);
  byId("lines").append(section);
  const exits = row.startups.filter((one) => one.time_ms !== null && one.time_ms <= line.to_ms);
  const rtts = line.t_ms.map((when, i) => [when, line.rtt_ms[i]]).filter(([, value]) => value !== null);
  const inflight = largest(line.inflight) || 1;
  const drawn = [
    course(charts, line, { name: "cwnd and bytes in flight", how: "Grey: in flight, as recorded; dotted: the sender's own cwnd where the trace has it; colours: the cwnd of each algorithm until it exits. Red ticks: losses found.", unit: "bytes", log: true, least: Math.min(...line.inflight.filter((value) => value > 0), inflight), height: 320,
      lines: [[line.inflight, { class: "flight" }], [line.sender_cwnd, { class: "real" }], ...row.startups.map((one, k) => [line.cwnds[k], { stroke: armOf(one.arm).colour }])], level: row.bdp_bytes && [row.bdp_bytes, `BDP ${bytes(row.bdp_bytes)}`], exits, heights: exits.map((one) => one.cwnd) }),
    course(charts, line, { name: "Round trip", how: "Each ACK's sample; the dashed line is the smallest.", unit: "ms", height: 210, samples: rtts, level: row.min_rtt_ms && [row.min_rtt_ms, `smallest ${time(row.min_rtt_ms)}`], exits }),
    course(charts, line, { name: "Delivery rate", how: "Payload acknowledged over a round trip; the dashed line is the best that was sustained.", unit: "Mbit/s", height: 210, times: line.rates.map(([when]) => when), lines: [[line.rates.map(([, value]) => value), { class: "rate-line" }]], level: row.best_rate_mbps && [row.best_rate_mbps, `best sustained ${rate(row.best_rate_mbps)}`], exits }),
    course(charts, line, { name: "ACK spacing", how: "Time since the ACK before; horizontal bands are bursts and the gaps between them.", unit: "ms", log: true, least: Math.min(...line.gaps_ms.map(([, gap]) => gap)) * 0.6, height: 190, samples: line.gaps_ms, exits }),
  ];
  reads(line, row, drawn);
  row.startups.forEach((one, k) => line.signals[k]?.length && section.append(inner(line, one, line.signals[k])));
}

// There are many internal signals: they are drawn on request.
function inner(line, one, signals) {
  const details = html("details", {}, html("summary", {}, `Internal signals of ${one.arm}`));
  details.addEventListener("toggle", () => {
    for (const { name, values } of signals) {
      course(details, line, { name, how: "Times in ns, amounts in bytes, counters as such.", unit: "", height: 130, lines: [[values, { stroke: armOf(one.arm).colour }]], exits: one.time_ms === null ? [] : [one] });
    }
    drawAll();
    details.querySelectorAll("figure").forEach(saveable);
  }, { once: true });
  return details;
}

words();
exitChart();
// Shares and a table of connections say nothing of a single one that its own section does not.
if (report.count > 1) {
  byId("verdict-table").append(tableBox("Verdicts by algorithm", report.tables.verdicts));
  byId("connections").append(tableBox("Connections", report.tables.connections));
  const more = report.count - report.connections.length;
  if (more > 0) byId("connections").append(html("p", { class: "how" }, `${number(more, 0)} more are in the JSON.`));
  byId("connections").append(tableBox("What was captured", report.tables.captured));
} else {
  byId("connections").remove();
}
report.lines.forEach(connection);
finish();
