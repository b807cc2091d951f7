// The page of an evaluation: the matrix, the findings, and every rule in every cell.

const { evaluation } = report;
const seat = [
  { arm: evaluation.algorithm, colour: "var(--arm-0)", shape: SHAPES[0] },
  { arm: evaluation.baseline, colour: "var(--arm-1)", shape: SHAPES[1] },
];
const kind = (verdict) => verdict.replace(/[^a-z]/g, "-");
const word = (verdict) => html("span", { class: kind(verdict) }, verdict);
const anchor = ({ section }) => `s${section.replace(/[^0-9]/g, "-")}`;
const RANKS = ["concern", "undecided", "pass", "report"];
const LANE = 20;
const MOST_LANES = 16;

function words() {
  byId("finding").textContent = report.summary;
  byId("lead").textContent = `In full: ${evaluation.algorithm_full}; baseline: ${evaluation.baseline_full}.`;
  byId("how-done").textContent = report.method;
  const lines = [...evaluation.broken, ...(evaluation.partial ? [evaluation.partial] : []), ...evaluation.notes];
  byId("notes").append(...lines.map((line) => html("li", {}, line)));
  byId("command").textContent = report.command;
}

function matrix() {
  const rows = evaluation.criteria.map((criterion, index) => html("tr", {},
    html("th", { scope: "row" }, html("a", { href: `#${anchor(criterion)}` }, criterion.section)),
    html("td", {}, criterion.title), html("td", {}, criterion.strength), html("td", {}, word(criterion.verdict)),
    html("td", { class: "decided" }, report.decided[index])));
  const head = ["Section", "criterion", "RFC", "verdict", "decided by"].map((text) => html("th", { scope: "col" }, text));
  byId("matrix-table").append(html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows)));
}

function concerns() {
  if (!report.sentences.length) return byId("found").remove();
  byId("concern-list").append(...report.sentences.map(([sentence, command]) => html("li", {}, sentence, " ", html("code", {}, command))));
}

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

function rules(criterion) {
  const rows = criterion.judges.map((row) => html("tr", {},
    html("th", { scope: "row" }, row.place, html("small", { class: "spread" }, row.cell)),
    html("td", { class: "word" }, `${report.names[row.metric]}${row.of === "all" ? "" : ` of ${row.of}`}`), html("td", { class: "word" }, row.window),
    ...[row.value, row.baseline].map((value) => html("td", {}, plain(value))),
    html("td", {}, row.difference === null ? MISSING : plain(row.difference), row.interval ? html("small", { class: "spread" }, `${plain(row.interval[0])} … ${plain(row.interval[1])}`) : null),
    html("td", {}, row.margin === null ? plain(row.limit) : plain(row.margin)), html("td", {}, plain(row.seeds, 3)), html("td", { class: "word" }, word(row.verdict))));
  const columns = [["Cell"], ["metric"], ["window"], [evaluation.algorithm], [evaluation.baseline], ["worse by", "95 % interval"], ["margin", "or limit"], ["seeds"], ["verdict"]];
  return html("div", { class: "scroll table-box rules", tabindex: 0, role: "region", "aria-label": `Rules of ${criterion.section}` }, rowsTable(columns, rows));
}

function sections() {
  for (const criterion of evaluation.criteria) {
    const part = html("section", { "aria-labelledby": anchor(criterion) },
      html("h2", { id: anchor(criterion) }, `${criterion.section} ${criterion.title}`),
      html("p", { class: "how" }, `${criterion.source}: ${criterion.strength}. `, word(criterion.verdict), criterion.reason ? `: ${criterion.reason}` : ""),
      criterion.about ? html("p", {}, criterion.about) : null);
    const said = [...criterion.ours.map((line) => `Convention: ${line}`), ...criterion.missing.map((line) => `Not run: ${line}`), ...criterion.author.map((line) => `For the author: ${line}`)];
    if (said.length) part.append(html("ul", {}, ...said.map((line) => html("li", {}, line))));
    byId("sections").append(part);
    if (!criterion.judges.length) continue;
    const drawing = html("div", {});
    part.append(drawing);
    map(drawing, criterion);
    margins(drawing, criterion);
    const counted = RANKS.map((verdict) => [verdict, criterion.judges.filter((row) => row.verdict === verdict).length]).filter(([, count]) => count);
    part.append(html("details", { class: "columns" }, html("summary", {}, `All ${criterion.judges.length} rules in cells: ${counted.map(([verdict, count]) => `${count} ${verdict}`).join(", ")}`), rules(criterion)));
    const shown = report.places.filter(({ section }) => section === criterion.section);
    if (!shown.length) continue;
    const courses = html("details", { class: "columns" }, html("summary", {}, `Over time: ${shown.map(({ place }) => place.about).join("; ")}`));
    part.append(courses);
    shown.forEach((one) => drawPlace(courses, one));
    // A closed element has no width to draw in.
    courses.addEventListener("toggle", () => courses.open && drawAll());
  }
}

words();
matrix();
concerns();
sections();
finish();
