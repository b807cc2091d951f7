// The four charts over one time axis: window, delivered bytes, queue, phases. Each draws the arms that are shown,
// over the time that is shown, and leaves an empty overlay for the reading line.

const PHASES = ["startup", "jump", "rapid", "css", "lss", "drain", "recovery", "avoidance"];
const RUG = 9;
const LANE = 38;

const charts = [
  {
    id: "window",
    title: "cwnd and bytes in flight",
    how: "The solid line is cwnd, the dashed one the bytes in flight. " +
      "Above “BDP” the queue fills; above “BDP + queue” packets drop. A shape marks the exit from slow start; ticks below the chart are losses.",
    height: (width) => (width < 560 ? 230 : 320),
    below: () => (view.layers.losses ? shownArms().filter((arm) => arm.losses.length).length * RUG : 0),
    draw: drawWindow,
    value: (arm, i) => arm.points.cwnd[i],
    says: (arm) => `${arm.arm} peaks at ${bytes(Math.max(0, ...arm.points.cwnd))}` + (arm.exit ? ` and exited slow start at ${time(arm.exit.time_ms)}` : ""),
  },
  {
    id: "delivered",
    get title() {
      return report.ideal ? "Behind the ideal" : "Delivered bytes";
    },
    get how() {
      return report.ideal
        ? "Bytes the receiver could have at the full rate from the start, minus the bytes it has in order. The line rises while the path is " +
          "not full, stays level while it is, and falls when a gap is filled. Its height when the ideal finishes is the cost of startup and recovery."
        : "Bytes the receiver has in order. Where the line is flat, the receiver waits.";
    },
    height: (width) => (width < 560 ? 190 : 230),
    draw: (...to) => (report.ideal ? drawBehind(...to) : drawDelivered(...to)),
    value: (arm, i, t) => (report.ideal ? behind(arm, i, t) : arm.points.delivered_bytes[i]),
    says: (arm) => `${arm.arm} ends with ${bytes(arm.points.delivered_bytes.at(-1) ?? 0)} at ${time(endOf(arm))}`,
  },
  {
    id: "queue",
    title: "Bottleneck queue",
    how: "Bytes queued at the bottleneck. All traffic through it waits this long; at the capacity line, packets drop.",
    height: (width) => (width < 560 ? 160 : 180),
    draw: drawQueue,
    value: (arm, i) => arm.points.queue_bytes[i],
    says: (arm) => `${arm.arm} fills at most ${bytes(Math.max(0, ...arm.points.queue_bytes))}`,
  },
  {
    id: "phases",
    title: "Phases",
    how: "The phase of each sender over time. A good startup is short; a good recovery is short or never happens.",
    height: () => Math.max(1, shownArms().length) * LANE + 34,
    draw: drawPhases,
    says: (arm) => `${arm.arm}: ${arm.phases.slice(0, 12).map((phase) => `${phase.name} until ${time(phase.end_ms)}`).join(", ")}`,
  },
];

function layOut() {
  for (const chart of charts) {
    chart.svg = svg("svg", { role: "img", "aria-labelledby": `${chart.id}-name`, "aria-describedby": `${chart.id}-says` });
    chart.plot = html("div", { class: "plot", tabindex: 0, role: "group", "data-chart": chart.id }, chart.svg);
    chart.saying = html("p", { id: `${chart.id}-says`, class: "visually-hidden" });
    chart.heading = html("h3", { id: `${chart.id}-name` });
    chart.about = html("p", { class: "how" });
    const caption = html("figcaption", {}, chart.heading, chart.about);
    if (chart.id === "phases") caption.append(html("p", { class: "phase-key", id: "phase-key" }));
    byId("charts").append(html("figure", { id: chart.id }, caption, chart.plot, chart.saying));
  }
  // Asked for while much else changes, a width would lay the page out again and again: it is kept until it can be another.
  new ResizeObserver(() => charts.forEach((chart) => delete chart.wide)).observe(byId("charts"));
  if (report) entitle();
}

// What stands above the charts, as far as it hangs on the data.
function entitle() {
  for (const chart of charts) {
    chart.heading.textContent = chart.title;
    chart.about.textContent = chart.how;
    chart.plot.setAttribute("aria-label", `${chart.title}: chart, arrow keys read values`);
  }
  byId("phase-key").replaceChildren(...phaseKey());
}

function phaseKey() {
  const used = [...new Set(arms.flatMap((arm) => arm.phases.map((phase) => phase.name)))];
  used.sort((a, b) => (PHASES.indexOf(a) + 99) % 99 - (PHASES.indexOf(b) + 99) % 99);
  return used.map((name) => html("span", {}, html("i", { class: `phase ${phaseClass(name)}` }), name));
}
const phaseClass = (name) => `phase-${PHASES.includes(name) ? name : "other"}`;

// Draws everything anew at the width the page offers, or at `width` for the printer; or only those charts that `due` picks by their place.
function render(width, due = () => true) {
  // All are asked before any is drawn: each answer after a change would lay the page out again.
  const widths = charts.map((chart) => Math.max(280, Math.floor(width ?? (chart.wide ??= chart.plot.clientWidth))));
  for (const [index, chart] of charts.entries()) {
    if (!due(index)) continue;
    const wide = widths[index];
    const below = chart.below?.() ?? 0;
    const tall = chart.height(wide) + below;
    const frame = { left: wide < 560 ? 52 : 58, right: wide - 12, top: 12, bottom: tall - 26 - below, width: wide, height: tall };
    frame.x = scale(view.from, view.to, frame.left, frame.right);
    chart.frame = frame;
    chart.svg.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    chart.svg.setAttribute("width", wide);
    chart.svg.setAttribute("height", tall);
    const clip = svg("clipPath", { id: `${chart.id}-clip` },
      svg("rect", { x: frame.left, y: frame.top - 6, width: frame.right - frame.left, height: frame.bottom - frame.top + 6 }));
    const data = svg("g", { class: "data" });
    chart.overlay = svg("g", { class: "overlay" });
    chart.svg.replaceChildren(svg("defs", {}, clip), data, chart.overlay);
    timeAxis(data, frame);
    chart.draw(data, frame, chart);
  }
  describe();
  const state = byId("charts").dataset;
  state.from = view.from;
  state.to = view.to;
  state.shown = JSON.stringify(shownArms().map((arm) => arm.arm));
}

// The charts in words: at once when the page opens, later once nothing moves any more, since nobody can listen to
// what changes twenty times a second.
let describing = null;
function describe() {
  const say = () => {
    for (const chart of charts) chart.saying.textContent = `${time(view.from)} to ${time(view.to)}. ${shownArms().map(chart.says).join("; ")}.`;
  };
  if (describing === null) say();
  clearTimeout(describing);
  describing = setTimeout(say, 100);
}

function timeAxis(g, frame) {
  const seconds = view.to > 10000;
  const unit = seconds ? 1000 : 1;
  const { list, decimals } = ticks(view.from / unit, view.to / unit, (frame.right - frame.left) / 72);
  const row = frame.height - 9;
  g.append(svg("path", { d: list.map((tick) => `M${round(frame.x(tick * unit))} ${frame.top}V${frame.bottom}`).join(""), class: "grid" }));
  for (const tick of list) {
    const x = round(frame.x(tick * unit));
    const last = tick === list.at(-1);
    const label = number(tick, tick ? decimals : 0) + (last ? NARROW + (seconds ? "s" : "ms") : "");
    const anchor = x > frame.right - 24 ? "end" : "middle";
    g.append(svg("text", { x, y: row, class: "tick", "text-anchor": anchor }, label));
  }
}

function byteAxis(g, frame, low, high) {
  const [unit, name] = byteUnit(high);
  const y = scale(low, high, frame.bottom, frame.top);
  const { list, decimals } = ticks(low / unit, high / unit, (frame.bottom - frame.top) / 48);
  const across = (ticks) => ticks.map((tick) => `M${frame.left} ${round(y(tick * unit))}H${frame.right}`).join("");
  g.append(svg("path", { d: across(list.filter((tick) => tick !== 0)), class: "grid" }));
  if (list.includes(0)) g.append(svg("path", { d: across([0]), class: "axis" }));
  for (const tick of list) {
    const row = round(y(tick * unit));
    const last = tick === list.at(-1);
    g.append(svg("text", { x: frame.left - 7, y: row + 4, class: "tick", "text-anchor": "end" }, number(tick, tick ? decimals : 0) + (last ? NARROW + name : "")));
  }
  return y;
}

// The top of an axis: above the curves, and above those reference lines that do not dwarf them.
function top(high, references, reach) {
  const near = references.filter((value) => value && value <= high * reach);
  return Math.max(high, ...near, 1) * 1.07;
}

// Horizontal lines with their names; those off the scale are named at the upper edge. Returns the names, to be put
// over whatever is drawn in between.
function references(g, frame, y, lines) {
  const beyond = [];
  const names = svg("g");
  const say = (row, text) => names.append(svg("text", { x: frame.right - 4, y: row, class: "reference-name", "text-anchor": "end" }, text));
  for (const { value, name, below } of lines) {
    if (!value) continue;
    if (value > y.to) {
      beyond.push(`${name} ${bytes(value)}`);
      continue;
    }
    const row = round(y(value));
    g.append(svg("path", { d: `M${frame.left} ${row}H${frame.right}`, class: "reference" }));
    say(row + (below ? 13 : -5), `${name} ${bytes(value)}`);
  }
  if (beyond.length) say(frame.top + 8, `↑ ${beyond.join(", ")}: above this scale`);
  return names;
}

// Two arms have the same window for most of the time of the first.
function coincide(arm, other) {
  const windowAt = ({ points }, t) => points.cwnd[at(points.t_ms, t)];
  const times = Array.from({ length: 50 }, (_, i) => ((i + 0.5) * endOf(arm)) / 50);
  return times.filter((t) => windowAt(arm, t) === windowAt(other, t)).length >= 40;
}

// A line that later ones coincide with is wider by each, so that all of them are seen.
function lineClass(arm, kind) {
  const shown = shownArms();
  const over = shown.slice(shown.indexOf(arm) + 1).filter((other) => coincide(arm, other)).length;
  return over ? `line ${kind} under-${Math.min(3, over)}` : `line ${kind}`;
}

const group = (arm, clip) => svg("g", { "data-arm": arm.arm, "clip-path": clip ? `url(#${clip}-clip)` : null });

function drawWindow(g, frame, chart) {
  const { bdp_bytes: bdp, full_bdp_bytes: full } = report.path;
  const high = Math.max(extent("cwnd")[1], extent("inflight")[1], 1);
  const y = byteAxis(g, frame, 0, top(high, [bdp, full], 1.8));
  chart.y = y;
  const names = references(g, frame, y, [{ value: bdp, name: "BDP", below: true }, { value: full, name: "BDP + queue" }]);
  let lane = frame.bottom + 4;
  for (const arm of shownArms()) {
    const { t_ms, cwnd, inflight, ssthresh } = arm.points;
    const lines = group(arm, chart.id);
    if (view.layers.inflight) lines.append(svg("path", { d: staircase(t_ms, inflight, frame.x, y), stroke: arm.colour, class: "line inflight" }));
    if (view.layers.ssthresh) lines.append(svg("path", { d: staircase(t_ms, ssthresh, frame.x, y), stroke: arm.colour, class: "line ssthresh" }));
    lines.append(svg("path", { d: staircase(t_ms, cwnd, frame.x, y), stroke: arm.colour, class: lineClass(arm, arm.look >= COLOURS ? "window again" : "window") }));
    g.append(lines);
    if (view.layers.losses && arm.losses.length) {
      g.append(rug(arm, frame, lane));
      lane += RUG;
    }
  }
  g.append(names);
  // Marks last, so that no line crosses them.
  for (const arm of shownArms()) {
    const { exit } = arm;
    if (!exit || exit.time_ms < view.from || exit.time_ms > view.to || exit.cwnd > y.to) continue;
    const sign = mark(arm, frame.x(exit.time_ms), y(exit.cwnd), 5.5, { class: "mark exit" });
    sign.append(svg("title", {}, `${arm.arm} exits slow start`));
    const holder = group(arm);
    holder.append(sign);
    g.append(holder);
  }
}

function rug(arm, frame, lane) {
  const holder = group(arm);
  holder.append(mark(arm, frame.left - 9, lane + RUG / 2, 3.2, { stroke: "none" }));
  const seen = arm.losses.filter((loss) => loss.t_ms >= view.from && loss.t_ms <= view.to).map((loss) => frame.x(loss.t_ms));
  holder.append(svg("path", { d: `M${frame.left} ${lane + RUG / 2}H${frame.right}`, class: "grid" }));
  for (const [from, to] of stretches(seen, 1.5)) {
    holder.append(svg("rect", { x: round(from - 0.8), y: lane + 0.5, width: round(to - from + 1.6), height: RUG - 1.5, fill: arm.colour, class: "loss" }));
  }
  return holder;
}

// What could be at the receiver by then, if the bottleneck had never been idle nor lost anything.
function bound(t) {
  const { t0_ms, rate_mbps } = report.ideal;
  return Math.min(report.workload_bytes, Math.max(0, ((t - t0_ms) * rate_mbps * 1000) / 8));
}
function behind(arm, i, t) {
  return Math.max(0, bound(t) - (i < 0 ? 0 : arm.points.delivered_bytes[i]));
}

// The bound rises in between two samples and falls back with each: a corner before and one after every sample.
function deficit(arm, x, y) {
  const { t_ms } = arm.points;
  const [first, last] = inside(t_ms, x.from, x.to);
  let d = "";
  for (let i = first; i <= last; i++) {
    const px = round(Math.min(x(x.to) + 4, Math.max(x(x.from) - 4, x(t_ms[i]))));
    d += `${d ? "L" : "M"}${px} ${round(y(behind(arm, i - 1, t_ms[i])))}V${round(y(behind(arm, i, t_ms[i])))}`;
  }
  return d;
}

function drawBehind(g, frame, chart) {
  let high = 1;
  for (const arm of shownArms()) {
    const { t_ms } = arm.points;
    if (!t_ms.length) continue;
    const [first, last] = inside(t_ms, view.from, view.to);
    for (let i = first; i <= last; i++) high = Math.max(high, behind(arm, i - 1, Math.min(t_ms[i], view.to)));
  }
  const y = byteAxis(g, frame, 0, high * 1.07);
  chart.y = y;
  for (const arm of shownArms()) {
    const lines = group(arm, chart.id);
    lines.append(svg("path", { d: deficit(arm, frame.x, y), stroke: arm.colour, class: lineClass(arm, "behind") }));
    g.append(lines);
  }
}

// Where the rate changes there is no such bound.
function drawDelivered(g, frame, chart) {
  let [low, high] = zoomed() ? extent("delivered_bytes") : [0, report.workload_bytes];
  if (!(high > low)) [low, high] = [0, report.workload_bytes || 1];
  const y = byteAxis(g, frame, low, high + (high - low) * 0.05);
  chart.y = y;
  for (const arm of shownArms()) {
    const lines = group(arm, chart.id);
    lines.append(svg("path", { d: staircase(arm.points.t_ms, arm.points.delivered_bytes, frame.x, y), stroke: arm.colour, class: lineClass(arm, "delivered") }));
    g.append(lines);
  }
}

function drawQueue(g, frame, chart) {
  const capacity = report.path.queue_bytes;
  const high = Math.max(extent("queue_bytes")[1], 1);
  const y = byteAxis(g, frame, 0, top(high, [capacity], 3));
  chart.y = y;
  const names = references(g, frame, y, [{ value: capacity, name: "capacity", below: true }]);
  for (const arm of shownArms()) {
    const { t_ms, queue_bytes } = arm.points;
    const lines = group(arm, chart.id);
    lines.append(svg("path", { d: staircase(t_ms, queue_bytes, frame.x, y), stroke: arm.colour, class: lineClass(arm, "thin") }));
    g.append(lines);
  }
  g.append(names);
}

function drawPhases(g, frame, chart) {
  chart.y = null;
  let row = frame.top;
  for (const arm of shownArms()) {
    const lane = group(arm);
    lane.append(mark(arm, frame.left + 5, row + 6, 4.2), svg("text", { x: frame.left + 15, y: row + 10, class: "lane-name" }, arm.arm));
    for (const phase of arm.phases) {
      if (phase.end_ms <= view.from || phase.start_ms >= view.to) continue;
      const left = frame.x(Math.max(view.from, phase.start_ms));
      const right = frame.x(Math.min(view.to, phase.end_ms));
      const wide = Math.max(1, right - left);
      const bar = svg("rect", { x: round(left), y: row + 15, width: round(wide), height: 16, class: `phase ${phaseClass(phase.name)}` },
        svg("title", {}, `${arm.arm}: ${phase.name}, ${time(phase.start_ms)} to ${time(phase.end_ms)}`));
      lane.append(bar);
      if (wide > phase.name.length * 6.6 + 8) lane.append(svg("text", { x: round(left + 5), y: row + 27, class: `phase-name on-${phaseClass(phase.name)}` }, phase.name));
    }
    row += LANE;
    g.append(lane);
  }
}
