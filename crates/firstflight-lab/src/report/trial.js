// The page of a field test: effects with both intervals, where they are, what they cost, and the checks.

const { answer } = report;
const { baseline } = answer.experiment;
const arms = report.arms.map(([arm, look]) => ({ arm, colour: `var(--arm-${look % COLOURS})`, shape: SHAPES[look % SHAPES.length] }));
const armOf = (name) => arms.find(({ arm }) => arm === name);
const LANE = 40;
const percent = (value) => (value === null ? MISSING : `${number(value, 1)}${NARROW}%`);
const cell = (text, small) => html("td", {}, text, small ? html("small", { class: "spread" }, small) : null);
const ranged = (one, decimals = 1, unit = `${NARROW}%`) => (one ? cell(`${number(one.value, decimals)}${unit}`, `${number(one.low, decimals)} … ${number(one.high, decimals)}`) : cell(MISSING));
const head = (name) => html("th", { scope: "row" }, swatch(armOf(name)), html("span", { class: "name" }, name));

function words() {
  byId("finding").textContent = answer.finding;
  const rows = answer.arms.reduce((sum, arm) => sum + arm.rows, 0);
  const units = answer.arms.reduce((sum, arm) => sum + arm.units, 0);
  byId("lead").textContent = `${number(rows, 0)} connections of ${number(units, 0)} units, each arm against ${baseline}.`;
  for (const text of answer.warnings) byId("notes").append(html("p", { class: "note warning" }, html("strong", {}, "Note "), text));
  for (const legend of document.querySelectorAll("[data-legend]")) legend.append(...arms.slice(1).map((arm) => html("span", {}, swatch(arm), arm.arm)));
  byId("command").textContent = report.command;
}

function forest() {
  const shown = answer.results.filter(({ reduction_pct: found }) => found);
  if (!shown.length) return;
  const ends = shown.flatMap(({ reduction_pct: a, always_valid_pct: b }) => [a.low, a.high, ...(b ? [b.low, b.high] : [])]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
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

const put = (id, columns, rows) => (rows.length ? byId(id).append(rowsTable(columns, rows)) : byId(id).closest("section").remove());

function tables() {
  put("effect-table", [["Arm"], ["shorter by", "95 % interval"], ["always-valid", "%"], ["p"], ["units"], ["rows"], ["rows left out"]],
    answer.results.map((row) => html("tr", {}, head(row.arm), ranged(row.reduction_pct),
      cell(row.always_valid_pct ? `${number(row.always_valid_pct.low, 1)} … ${number(row.always_valid_pct.high, 1)}` : MISSING),
      cell(row.p === null ? MISSING : row.p < 0.0001 ? "< 0.0001" : number(row.p, 4)), cell(number(row.units, 0)), cell(number(row.rows, 0)), cell(number(row.rows_left_out, 0)))));
  put("part-table", [["Arm"], ["by"], ["part"], ["shorter by", "95 % interval"], ["rows"]],
    answer.parts.map((row) => html("tr", {}, head(row.arm), cell(row.part === "rtt" ? "round trip" : row.part), cell(row.name), row.stands ? html("td", {}, html("strong", {}, percent(row.reduction_pct.value)), html("small", { class: "spread" }, `${number(row.reduction_pct.low, 1)} … ${number(row.reduction_pct.high, 1)}`)) : ranged(row.reduction_pct), cell(number(row.rows, 0)))));
  put("quantile-table", [["Arm"], ["quantile"], ["time", answer.experiment.columns.time], ["baseline"], ["shorter by", "95 % interval"]],
    answer.quantiles.map((row) => html("tr", {}, head(row.arm), cell(row.quantile), cell(plain(row.time, 4)), cell(plain(row.baseline_time, 4)), ranged(row.reduction_pct))));
  put("total-table", [["Arm"], ["ratio"], ["value"], ["baseline"], ["factor", "95 % interval"], ["always-valid"]],
    answer.totals.map((row) => html("tr", {}, head(row.arm), cell(row.ratio), cell(row.value === null ? MISSING : plain(row.value, 3)), cell(row.baseline_value === null ? MISSING : plain(row.baseline_value, 3)), ranged(row.times, 2, ""),
      cell(row.always_valid_times ? `${number(row.always_valid_times.low, 2)} … ${number(row.always_valid_times.high, 2)}` : MISSING))));
  put("arm-table", [["Arm"], ["rows"], ["units"], ["effective units"], ["largest unit", "of bytes"], ["data"], ["incomplete"]],
    answer.arms.map((arm) => html("tr", {}, head(arm.arm), cell(number(arm.rows, 0)), cell(number(arm.units, 0)), cell(number(arm.effective_units, 0)), cell(percent(arm.largest_unit_pct)), cell(bytes(arm.bytes)), cell(percent(arm.incomplete_pct)))));
  if (answer.needs.length) {
    byId("need-table").append(rowsTable([["Effect"], ["units if checked", "at any time"], ["units if the end", "is fixed in advance"], ["hours", "at the current rate"]],
      answer.needs.map((need) => html("tr", {}, html("th", { scope: "row" }, `${number(need.effect_pct, 0)}${NARROW}%`), cell(number(need.units, 0)), cell(number(need.units_fixed, 0)), cell(need.hours === null ? MISSING : number(need.hours, 1))))));
  }
}

function checks() {
  const say = (text) => byId("checks").append(html("li", {}, text));
  const { sample_ratio: ratio, aa, rehearsal, balance } = answer;
  if (ratio) say(`Sample ratio ${ratio.mismatch ? "not as planned" : "as planned"}: evidence against the planned shares 10^${number(ratio.log10_bayes_factor, 1)}, counted in ${ratio.counted}; from 10^3 on, no verdict is given.`);
  say(`${balance.unbalanced ? "The distribution of sizes differs between the arms beyond chance" : "The arms have the same distribution of sizes"}.`);
  if (aa?.reduction_pct) say(`A/A: two random halves of the baseline differ by ${percent(aa.reduction_pct.value)} (${number(aa.reduction_pct.low, 1)} … ${number(aa.reduction_pct.high, 1)}).`);
  if (rehearsal) say(`Rehearsal: in ${number(rehearsal.trials, 0)} trials made from these rows the final interval covers the truth in ${percent(rehearsal.covered_pct)}, the always-valid interval in ${percent(rehearsal.always_covered_pct)} at all of ${number(rehearsal.looks, 0)} looks, a plain one in ${percent(rehearsal.plain_covered_pct)}.`);
}

words();
forest();
tables();
checks();
finish();
