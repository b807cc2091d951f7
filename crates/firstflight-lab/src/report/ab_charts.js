// The charts of an A/B test: fronts of time against loss, reductions by percentile and by part, losses by percentile.
// Each is drawn anew at the width the page offers.

const { analysis } = report;
const { experiment } = analysis;

const arms = experiment.arms.map((arm, index) => ({
  arm,
  full: experiment.arms_full[index],
  index,
  ...lookOf(report.looks[index]),
}));
const tested = arms.slice(1);
const armOf = (entry) => arms.find((arm) => arm.arm === entry.arm);

// Entries of one kind of part, one list per part.
function partsOf(kind) {
  const parts = new Map();
  for (const entry of analysis.results) {
    if (entry.part !== kind) continue;
    if (!parts.has(entry.name)) parts.set(entry.name, []);
    parts.get(entry.name).push(entry);
  }
  return [...parts.values()];
}

const between = ({ low, high }, decimals) => (low === null ? MISSING : `${number(low, decimals)} … ${number(high, decimals)}`);

// --- Fronts ----------------------------------------------------------------------------------------------------

function fronts() {
  const groups = partsOf("group");
  const all = partsOf("all");
  byId("fronts").classList.toggle("one", groups.length < 2);
  for (const entries of [...all, ...(groups.length > 1 ? groups : [])]) {
    const name = entries[0].part === "all" ? "All connections" : entries[0].name;
    figure(byId("fronts"), {
      name,
      height: 236,
      says: () => entries.map((entry) => `${entry.arm} ${plain(entry.ttlb_ms.mean)} ms, ${plain(entry.loss_pct.mean)} % loss${entry.front ? "" : ", dominated"}`).join("; "),
      draw: (picture, width, height) => drawFront(picture, width, height, entries),
    });
  }
}

function drawFront(picture, width, height, entries) {
  const times = entries.map((entry) => entry.ttlb_ms.mean);
  const losses = entries.map((entry) => entry.loss_pct.mean);
  const [left, right, top, bottom] = [44, width - 14, 26, height - 40];
  const x = scale(...room(Math.min(...times), Math.max(...times), Math.max(...times) * 0.05), left, right);
  const y = scale(...room(Math.min(...losses), Math.max(...losses), Math.max(...losses) * 0.2 || 0.01), bottom, top);
  const xs = ticks(x.from, x.to, width < 260 ? 3 : 4);
  const ys = ticks(y.from, y.to, 4);
  axes(picture, {
    x, y, left, right, top, bottom, xTicks: xs.list, yTicks: ys.list,
    xText: (value) => number(value, xs.decimals), yText: (value) => number(value, ys.decimals),
    xLabel: "mean completion time, ms", yLabel: "mean loss, %",
  });
  const kept = entries.filter((entry) => entry.front).sort((a, b) => a.ttlb_ms.mean - b.ttlb_ms.mean);
  picture.append(svg("path", { d: kept.map((entry, i) => `${i ? "L" : "M"}${round(x(entry.ttlb_ms.mean))} ${round(y(entry.loss_pct.mean))}`).join(""), class: "front" }));
  // Beaten arms first, so that the others lie on top.
  for (const entry of entries.toSorted((a, b) => a.front - b.front)) {
    const arm = armOf(entry);
    const place = mark(arm, x(entry.ttlb_ms.mean), y(entry.loss_pct.mean), entry.front ? 7 : 6,
      entry.front ? {} : { fill: "var(--card)", style: `stroke:${arm.colour}`, "stroke-width": 0.3 });
    const words = `${entry.arm}: ${plain(entry.ttlb_ms.mean, 4)} ms, ${plain(entry.loss_pct.mean)} % loss${entry.front ? "" : ", dominated by another arm"}`;
    place.setAttribute("data-tip", words);
    picture.append(place);
  }
}

// --- Curves over percentiles -----------------------------------------------------------------------------------

// A line per arm; `points(arm)` gives [x, y] pairs.
function drawCurves(picture, list, x, y, points) {
  for (const arm of list) {
    const pairs = points(arm);
    const d = pairs.map(([at, value], i) => `${i ? "L" : "M"}${round(x(at))} ${round(y(value))}`).join("");
    picture.append(svg("path", { d, class: "line", stroke: arm.colour }));
    // Evenly over the picture, whatever the axis does to the percentiles; arms start apart so that marks do not hide each other.
    const gap = (x(x.to) - x(x.from)) / 8;
    let next = x(x.from) + gap * (0.35 + (0.5 * list.indexOf(arm)) / list.length);
    for (const [at, value] of pairs) {
      if (x(at) < next) continue;
      picture.append(mark(arm, x(at), y(value), 4));
      next += gap;
    }
  }
}

// The reading line: what every arm has at the percentile under the pointer.
function follow(plot, state, head, value) {
  const panel = byId("reading");
  const hide = () => {
    panel.hidden = true;
    plot.querySelector(".crosshair")?.remove();
  };
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("pointermove", (event) => {
    const { x, top, bottom, steps } = state;
    const pixel = event.clientX - plot.getBoundingClientRect().left - 1;
    const nearest = steps.reduce((best, step) => (Math.abs(x(step.at) - pixel) < Math.abs(x(best.at) - pixel) ? step : best));
    hide();
    plot.querySelector("svg").append(svg("path", { d: `M${round(x(nearest.at))} ${top}V${bottom}`, class: "crosshair" }));
    const rows = state.list.map((arm) => html("tr", {}, html("th", { scope: "row" }, swatch(arm), arm.arm), html("td", {}, value(arm, nearest))));
    showReading(event, head(nearest), rows);
  });
}

const curveOf = (arm) => analysis.percentiles[arm.index];

function reductionCurve() {
  const state = { list: tested, steps: Array.from({ length: 99 }, (_, i) => ({ at: i + 1, index: i })) };
  const plot = figure(byId("curve"), {
    name: "How much shorter, by percentile",
    how: "The p-th fastest download of each arm beside the p-th fastest of the baseline. Above zero is shorter.",
    height: (width) => (width < 560 ? 240 : 300),
    says: () => tested.map((arm) => `${arm.arm} ${plain(curveOf(arm).reduction_pct[49])} % at the median, ${plain(curveOf(arm).reduction_pct[94])} % at the 95th`).join("; "),
    draw(picture, width, height) {
      const values = tested.flatMap((arm) => curveOf(arm).reduction_pct);
      const [left, right, top, bottom] = [50, width - 14, 26, height - 42];
      const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
      const x = scale(0, 100, left, right);
      const y = scale(low - (high - low) * 0.06, high + (high - low) * 0.08 || 1, bottom, top);
      const ys = ticks(y.from, y.to, 5);
      axes(picture, {
        x, y, left, right, top, bottom, xTicks: width < 560 ? [10, 50, 90] : [1, 10, 25, 50, 75, 90, 99], yTicks: ys.list,
        xText: (value) => `p${value}`, yText: (value) => number(value, ys.decimals), xLabel: "percentile of the completion time", yLabel: "shorter by, %",
      });
      picture.append(svg("path", { d: `M${left} ${round(y(0))}H${right}`, class: "zero" }));
      drawCurves(picture, tested, x, y, (arm) => curveOf(arm).reduction_pct.map((value, i) => [i + 1, value]));
      Object.assign(state, { x, top, bottom });
    },
  });
  follow(plot, state, ({ at }) => `p${at}`, (arm, { index }) => `${number(curveOf(arm).reduction_pct[index], 1)}${NARROW}%`);
}

// Percentiles spread towards the tail: p50, p90, p99 and p99.9 lie about as far apart as readers care.
const tail = (p) => -Math.log10(1 - p);

function lossCurve() {
  const steps = [...Array.from({ length: 99 }, (_, i) => (i + 1) / 100), 0.995, 0.999].map((p, index) => ({ p, at: tail(p), index }));
  const value = (arm, index) => (index < 99 ? curveOf(arm).loss_pct[index] : curveOf(arm).loss_tail_pct[index - 99]);
  const state = { list: arms, steps };
  const plot = figure(byId("loss"), {
    name: "Loss per connection, by percentile",
    how: "Packets lost of packets sent, until the object is acknowledged. The axis stretches towards the worst connections.",
    height: (width) => (width < 560 ? 240 : 300),
    says: () => arms.map((arm) => `${arm.arm} ${plain(value(arm, 49))} % at the median, ${plain(value(arm, 98))} % at the 99th`).join("; "),
    draw(picture, width, height) {
      const [left, right, top, bottom] = [50, width - 14, 26, height - 42];
      const high = Math.max(0.01, ...arms.flatMap((arm) => steps.map(({ index }) => value(arm, index))));
      const x = scale(0, 3.05, left, right);
      const y = scale(0, high * 1.08, bottom, top);
      const ys = ticks(0, y.to, 5);
      axes(picture, {
        x, y, left, right, top, bottom, xTicks: [0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999].filter((p) => width > 560 || ![0.25, 0.75, 0.95].includes(p)).map(tail), yTicks: ys.list,
        xText: (at) => `p${number(100 - 100 * 10 ** -at, at > 2.5 ? 1 : 0)}`, yText: (value) => number(value, ys.decimals), xLabel: "percentile of the connections", yLabel: "loss, %",
      });
      drawCurves(picture, arms, x, y, (arm) => steps.map(({ at, index }) => [at, value(arm, index)]));
      Object.assign(state, { x, top, bottom });
    },
  });
  follow(plot, state, ({ p }) => `p${plain(p * 100)}`, (arm, { index }) => `${plain(value(arm, index))}${NARROW}%`);
}

// --- Forests ---------------------------------------------------------------------------------------------------

const FORESTS = [
  ["group", "Reduction, by group", "Means with 95 % intervals; hollow if the difference is not significant when all cells are tested together."],
  ["size", "Reduction, by object size", "An object that ends inside startup gains or loses most; a long transfer spreads the difference."],
  ["bdp", "Reduction, by rate × round trip", "What a path holds when it is full: below one initial window there is nothing for a startup to do."],
  ["buffer", "Reduction, by buffer over rate × round trip", "How much overshoot the bottleneck can take before it drops."],
  ["fill", "Reduction, by object size over three times the capacity of path and queue", "Startup overshoots when it has sent up to three times what path and queue hold. Below 1 an object can end inside the overshoot or its repair, which costs time; far above, the gain of startup thins out."],
];
const LANE = 15;
// What a letter of a row's name takes, in pixels.
const ROW_LETTER = 6.6;

function forests() {
  for (const [kind, name, how] of FORESTS) {
    const parts = partsOf(kind);
    if (parts.length < 2) continue;
    const band = Math.max(30, tested.length * LANE + 12);
    figure(byId("forests"), {
      name, how,
      height: parts.length * band + 52,
      says: () => parts.map((entries) => `${entries[0].name}: ${entries.filter((entry) => entry.versus_baseline).map((entry) => `${entry.arm} ${plain(entry.versus_baseline.reduction_pct.mean.value)} %`).join(", ")}`).join("; "),
      draw: (picture, width) => drawForest(picture, width, parts, band),
    });
  }
}

function drawForest(picture, width, parts, band) {
  const means = parts.flatMap((entries) => entries.slice(1).map((entry) => entry.versus_baseline.reduction_pct.mean)).filter(({ low }) => low !== null);
  const [low, high] = [Math.min(0, ...means.map((one) => one.low)), Math.max(0, ...means.map((one) => one.high))];
  const names = Math.max(...parts.map((entries) => entries[0].name.length));
  const [left, right, top, bottom] = [Math.min(width * 0.38, 18 + names * ROW_LETTER), width - 16, 8, 8 + parts.length * band];
  const x = scale(low - (high - low) * 0.04, high + (high - low) * 0.04 || 1, left, right);
  const xs = ticks(x.from, x.to, width < 420 ? 4 : 6);
  parts.forEach((_, i) => i % 2 === 0 && picture.append(svg("rect", { x: 0, y: top + i * band, width, height: band, class: "stripe" })));
  axes(picture, {
    x, y: (value) => value, left, right, top, bottom, xTicks: xs.list, yTicks: [],
    xText: (value) => number(value, xs.decimals), yText: String, xLabel: "shorter by, % of the mean",
  });
  picture.append(svg("path", { d: `M${round(x(0))} ${top}V${bottom}`, class: "zero" }));
  parts.forEach((entries, i) => {
    const middle = top + i * band + band / 2;
    picture.append(svg("text", { x: 10, y: middle - 1, class: "row-name" }, shortened(entries[0].name, (left - 16) / ROW_LETTER)));
    picture.append(svg("text", { x: 10, y: middle + 13, class: "axis-name" }, number(entries[0].flows, 0)));
    entries.slice(1).forEach((entry, lane) => {
      const arm = armOf(entry);
      const { value, low: from, high: to } = entry.versus_baseline.reduction_pct.mean;
      const at = round(middle + (lane - (tested.length - 1) / 2) * LANE);
      if (from !== null) picture.append(svg("path", { d: `M${round(x(from))} ${at}H${round(x(to))}`, class: "whisker", stroke: arm.colour }));
      const dot = mark(arm, x(value), at, 5, entry.versus_baseline.significant ? {} : { fill: "var(--card)", style: `stroke:${arm.colour}`, "stroke-width": 0.35 });
      dot.setAttribute("data-tip", `${entry.name}, ${entry.arm}: ${number(value, 1)} % shorter [${between(entry.versus_baseline.reduction_pct.mean, 1)}], ${signed(entry.versus_baseline.loss_points.value, 2)} points of loss`);
      picture.append(dot);
    });
  });
}
