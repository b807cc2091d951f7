// The page of a field test: draws the effects with both intervals; the tables are HTML.

const { answer } = report;
const { baseline } = answer.experiment;
const arms = report.arms.map(([arm, look]) => ({ arm, ...lookOf(look) }));
const armOf = (name) => arms.find(({ arm }) => arm === name);
const LANE = 40;
const percent = (value) => (value === null ? MISSING : `${number(value, 1)}${NARROW}%`);

function words() {
  byId("finding").textContent = answer.finding;
  const rows = answer.arms.reduce((sum, arm) => sum + arm.rows, 0);
  const units = answer.arms.reduce((sum, arm) => sum + arm.units, 0);
  byId("lead").textContent = `${number(rows, 0)} connections of ${number(units, 0)} units, each arm against ${baseline}.`;
  for (const text of answer.warnings) byId("notes").append(html("p", { class: "note warning" }, html("strong", {}, "Note "), text));
  sign(document, arms);
  byId("command").textContent = report.command;
}

function forest() {
  const shown = answer.results.filter(({ reduction_pct: found }) => found);
  if (!shown.length) return;
  const ends = shown.flatMap(({ reduction_pct: a, always_valid_pct: b }) => [a.low, a.high, ...(b ? [b.low, b.high] : [])]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
  byId("forest").before(html("div", { class: "legend" }, ...arms.slice(1).map((arm) => html("span", {}, swatch(arm), arm.arm))));
  figure(byId("forest"), {
    name: `Shorter than with ${baseline}`,
    how: "Right of zero is shorter.",
    height: () => shown.length * LANE + 52,
    says: () => shown.map(({ arm, reduction_pct: found }) => `${arm} ${percent(found.value)} shorter`).join(", "),
    draw(picture, width) {
      const names = Math.max(...shown.map(({ arm }) => arm.length));
      const [left, right, top, bottom] = [Math.min(width * 0.38, 18 + names * 7), width - 16, 8, 8 + shown.length * LANE];
      const span = high - low || 1;
      const x = scale(low - span * 0.05, high + span * 0.05, left, right);
      const xs = ticks(x.from, x.to, width < 420 ? 4 : 7);
      axes(picture, { x, y: (value) => value, left, right, top, bottom, xTicks: xs.list, yTicks: [], xText: (value) => number(value, xs.decimals), yText: String, xLabel: "shorter by, %" });
      picture.append(svg("path", { d: `M${round(x(0))} ${top}V${bottom}`, class: "zero" }));
      shown.forEach(({ arm: name, reduction_pct: found, always_valid_pct: always, stands }, row) => {
        const arm = armOf(name);
        const at = top + row * LANE + LANE / 2;
        picture.append(svg("text", { x: 10, y: at + 4, class: "row-name" }, shortened(name, (left - 16) / 7)));
        if (always) picture.append(svg("path", { d: `M${round(x(always.low))} ${at}H${round(x(always.high))}`, class: "whisker", stroke: arm.colour, style: "stroke-width:1" }));
        picture.append(svg("path", { d: `M${round(x(found.low))} ${at}H${round(x(found.high))}`, class: "whisker", stroke: arm.colour, style: "stroke-width:4" }));
        const dot = mark(arm, x(found.value), at, 6, stands ? {} : { fill: "var(--card)", style: `stroke:${arm.colour}`, "stroke-width": 0.35 });
        dot.setAttribute("data-tip", `${name}: ${percent(found.value)} shorter [${number(found.low, 1)}, ${number(found.high, 1)}]`);
        picture.append(dot);
      });
    },
  });
}

words();
forest();
finish();
