// The page of an evaluation: draws every rule in every cell, and cells over time; words and tables are HTML.

const { evaluation } = report;
const seat = [
  { arm: evaluation.algorithm, colour: "var(--arm-0)", shape: SHAPES[0] },
  { arm: evaluation.baseline, colour: "var(--arm-1)", shape: SHAPES[1] },
];
const kind = (verdict) => verdict.replace(/[^a-z]/g, "-");
const RANKS = ["concern", "undecided", "pass", "report"];
const LANE = 20;
const MOST_LANES = 16;

// A relative rule in margins: above 1 it is worse than the margin allows.
const inMargins = (row) => row.margin > 0 && row.interval ? { row, at: row.difference / row.margin, low: row.interval[0] / row.margin, high: row.interval[1] / row.margin } : null;

function margins(parent, criterion) {
  const all = criterion.judges.map(inMargins).filter((one) => one && one.row.rule === "not-more-than-baseline");
  if (!all.length) return;
  const shown = all.toSorted((a, b) => b.high - a.high).slice(0, MOST_LANES);
  const clip = (value) => Math.max(-8, Math.min(8, value));
  figure(parent, {
    name: `Difference from ${evaluation.baseline}, in margins`,
    how: `Values left of 0 are better; values right of 1 (the line) are worse than the margin allows. Mean and 95 % interval of the paired differences; ${shown.length < all.length ? `the ${shown.length} worst of ${all.length} comparisons` : "every comparison"}. Values beyond 8 margins are drawn at the edge.`,
    height: () => 22 + shown.length * LANE + 44,
    says: () => shown.map(({ row, at }) => `${row.place}: ${report.names[row.metric]} ${plain(at)} margins`).join(", "),
    draw(drawn, width) {
      const name = Math.min(330, width * 0.45);
      const [left, right, top, bottom] = [name, width - 14, 22, 22 + shown.length * LANE];
      const low = Math.min(-1, ...shown.map((one) => clip(one.low)));
      const high = Math.max(2, ...shown.map((one) => clip(one.high)));
      const x = scale(low, high, left + 8, right - 8);
      shown.forEach((_, i) => i % 2 === 0 && drawn.append(svg("rect", { x: 0, y: top + i * LANE, width, height: LANE, class: "stripe" })));
      axes(drawn, { x, y: (value) => value, left, right, top, bottom, xTicks: ticks(low, high, 6).list, yTicks: [], xText: (value) => String(value), yText: String, xLabel: "difference / margin" });
      drawn.append(svg("path", { d: `M${round(x(1))} ${top}V${bottom}`, class: "zero" }));
      shown.forEach(({ row, at, low, high }, i) => {
        const y = top + (i + 0.5) * LANE;
        const label = `${report.names[row.metric]}${row.window === "start" ? " at the start" : ""}, ${row.place}`;
        const most = Math.floor(name / 6.4);
        drawn.append(svg("text", { x: 2, y: y + 4, class: "row-name" }, label.length > most ? `${label.slice(0, most - 1)}…` : label));
        drawn.append(svg("path", { d: `M${round(x(clip(low)))} ${y}H${round(x(clip(high)))}`, class: "whisker", stroke: seat[0].colour }));
        const sign = mark(seat[0], x(clip(at)), y, 4.4);
        sign.setAttribute("data-tip", `${row.place}: ${report.names[row.metric]} ${plain(row.value)} ${row.unit}, ${evaluation.baseline} ${plain(row.baseline)}; ${row.verdict}`);
        drawn.append(sign);
      });
    },
  });
}

// Every rule in every cell: a lane for each metric, a mark for each cell.
const SQUARE = 15;
const SIGNS = { concern: "diamond", undecided: "triangle", pass: "square", report: "circle" };

function map(parent, criterion) {
  const what = (row) => `${report.names[row.metric]}${row.of === "all" ? "" : ` of ${row.of}`} (${row.window})`;
  const lanes = [...new Set(criterion.judges.map(what))].map((name) => ({ name, rows: criterion.judges.filter((row) => what(row) === name) }));
  const size = (width) => {
    const name = Math.min(260, width * 0.42);
    return { name, most: Math.max(4, Math.floor((width - name - 14) / SQUARE)) };
  };
  const tall = ({ rows }, most) => Math.max(LANE, Math.ceil(rows.length / most) * SQUARE + 5);
  figure(parent, {
    name: "Every rule in every cell",
    how: "Diamond: concern; triangle: undecided; square: pass; dot: reported only. Cells are in the order of the battery.",
    height: (width) => lanes.reduce((sum, lane) => sum + tall(lane, size(width).most), 6),
    says: () => lanes.map(({ name, rows }) => `${name}: ${RANKS.map((verdict) => [verdict, rows.filter((row) => row.verdict === verdict).length]).filter(([, count]) => count).map(([verdict, count]) => `${count} ${verdict}`).join(", ")}`).join("; "),
    draw(drawn, width) {
      const { name, most } = size(width);
      let top = 3;
      lanes.forEach((lane, i) => {
        if (i % 2 === 0) drawn.append(svg("rect", { x: 0, y: top, width, height: tall(lane, most), class: "stripe" }));
        drawn.append(svg("text", { x: 2, y: top + 14, class: "row-name" }, shortened(lane.name, name / 6.6)));
        lane.rows.forEach((row, place) => {
          const [x, y] = [name + SQUARE * (0.5 + (place % most)), top + 3 + SQUARE * (0.5 + Math.floor(place / most))];
          const sign = mark({ shape: SIGNS[row.verdict] ?? "circle", colour: "currentColor" }, x, y, row.verdict === "report" ? 3 : 4.6, { class: `mark ${kind(row.verdict)}` });
          sign.setAttribute("data-tip", `${row.place}: ${report.names[row.metric]} ${plain(row.value)} ${row.unit}, ${evaluation.baseline} ${plain(row.baseline)}; ${row.verdict}`);
          drawn.append(sign);
        });
        top += tall(lane, most);
      });
    },
  });
}

byId("finding").textContent = report.summary;
byId("lead").textContent = `In full: ${evaluation.algorithm_full}; baseline: ${evaluation.baseline_full}.`;
byId("command").textContent = report.command;
for (const criterion of evaluation.criteria) {
  const anchor = criterion.section.replace(/[ ,]/g, "-");
  const drawing = byId(`rules-${anchor}`);
  if (!drawing) continue;
  map(drawing, criterion);
  margins(drawing, criterion);
  const courses = byId(`over-time-${anchor}`);
  if (!courses) continue;
  report.places.filter(({ section }) => section === criterion.section).forEach((one) => drawPlace(courses, one));
  // A closed element has no width to draw in.
  const folded = courses.closest("details");
  folded.addEventListener("toggle", () => folded.open && drawAll());
}
finish();
