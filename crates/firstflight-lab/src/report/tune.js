// The page of a tuning: parameters with their profiles, the front of time against loss, and the gain by set of connections.

const { tuned, unit } = report;
const { experiment, gain, parameters, front } = tuned;
const ARM = { colour: "var(--arm-0)", shape: SHAPES[0] };
const MARKED = { colour: "var(--arm-1)", shape: SHAPES[3] };
const hollow = (arm) => ({ fill: "var(--card)", style: `stroke:${arm.colour}`, "stroke-width": 0.35 });
const percent = (value) => (value === null ? MISSING : `${signed(value, 1)}${NARROW}%`);
const points = (value) => `${signed(value, 2)}`;
const between = ({ low, high }, decimals = 1) => (low === null || high === null ? MISSING : `${number(low, decimals)} … ${number(high, decimals)}`);
const cell = (text, kind) => html("td", { class: kind }, text);
const head = (name, tip) => html("th", { scope: "row", "data-tip": tip }, name);

function words() {
  byId("finding").textContent = tuned.sentence;
  byId("lead").textContent = `${experiment.arm} on ${experiment.population}: ${plural(tuned.candidates, "candidate")}, ${plural(tuned.trials, "trial")}.`;
  facts(byId("facts"), [
    ["Default", html("code", {}, tuned.default)],
    ["Tuned", html("code", {}, tuned.tuned)],
    ["Objective", experiment.objective],
    ["Population", experiment.population],
    ["Connections", `${number(experiment.flows, 0)} to choose, as many to check, ${number(experiment.holdout_flows, 0)} to judge`],
    ["Transport", experiment.transport.toUpperCase()],
    ["Initial window", `${experiment.iw} packets`],
    ["Seed", String(experiment.seed)],
  ]);
  byId("command").textContent = report.command;
  byId("judge").textContent = tuned.judge_command ?? "";
  if (!tuned.judge_command) byId("judge").parentElement.remove();
  facts(byId("provenance"), [
    ["Version", report.version],
    ["Seeds of the sets", `${experiment.training_seed}, ${experiment.validation_seed}, ${experiment.holdout_seed}`],
    ["Not tuned, no range", tuned.left_out.join(", ")],
  ]);
}

function table() {
  const row = (of) => html("tr", {}, head(of.name, of.meaning), cell(`${of.low} … ${of.high}`), cell(of.default), cell(of.changed ? html("strong", {}, of.tuned) : of.tuned),
    cell(of.put_back ? percent(of.put_back.value) : of.flat ? "flat" : MISSING, "figure"), cell(of.put_back ? between(of.put_back) : "", "figure"));
  byId("table").append(rowsTable([["Parameter"], ["range"], ["default"], ["tuned"], ["put back", unit], ["95 % interval"]], parameters.map(row)));
}

// Values on one scale in all profiles; a candidate far below the rest is drawn at the edge.
const inRange = parameters.flatMap(({ profile }) => profile.filter(({ within_limits: kept }) => kept).map((point) => point.gain));
const best = Math.max(0, ...inRange);
const worst = Math.max(Math.min(0, ...inRange), -2 * Math.max(best, 5));

function profiles() {
  byId("profiles").classList.toggle("one", parameters.length < 2);
  for (const of of parameters) {
    figure(byId("profiles"), {
      name: of.name,
      how: of.meaning,
      height: 210,
      says: () => of.profile.map((point) => `${point.value}: ${percent(point.gain)}`).join(", "),
      draw(picture, width, height) {
        const [left, right, top, bottom] = [44, width - 16, 26, height - 40];
        const x = scale(-0.5, of.profile.length - 0.5, left, right);
        const span = Math.max(best - worst, 1);
        const y = scale(worst - span * 0.1, best + span * 0.1, bottom, top);
        const ys = ticks(y.from, y.to, 4);
        axes(picture, {
          x, y, left, right, top, bottom, xTicks: of.profile.map((_, i) => i), yTicks: ys.list,
          xText: (i) => of.profile[i].value, yText: (value) => number(value, ys.decimals), xLabel: of.key, yLabel: "gain, %",
        });
        const at = (point) => y(Math.min(y.to, Math.max(y.from, point.gain)));
        picture.append(svg("path", { d: `M${left} ${round(y(0))}H${right}`, class: "zero" }));
        picture.append(svg("path", { d: of.profile.map((point, i) => `${i ? "L" : "M"}${round(x(i))} ${round(at(point))}`).join(""), class: "line", stroke: ARM.colour }));
        of.profile.forEach((point, i) => {
          const arm = point.value === of.tuned ? MARKED : ARM;
          const place = mark(arm, x(i), at(point), point.value === of.tuned ? 7 : 4.5, point.within_limits ? {} : hollow(arm));
          const roles = [point.value === of.tuned ? "tuned" : null, point.value === of.default ? "default" : null, point.within_limits ? null : "breaks a limit"].filter(Boolean);
          place.setAttribute("data-tip", `${of.key}=${point.value}${roles.length ? ` (${roles.join(", ")})` : ""}: gain ${percent(point.gain)}, ${points(point.loss_points)} points of loss`);
          picture.append(place);
        });
      },
    });
  }
}

function tradeoff() {
  figure(byId("front"), {
    name: "Time saved and loss added",
    height: (width) => (width < 560 ? 240 : 300),
    says: () => front.map((of) => `${of.arm} ${percent(of.time_pct)}, ${points(of.loss_points)} points`).join("; "),
    draw(picture, width, height) {
      const [left, right, top, bottom] = [50, width - 16, 26, height - 40];
      const ends = (read) => [Math.min(0, ...front.map(read)), Math.max(0, ...front.map(read))];
      const padded = ([low, high], least) => [low - Math.max(high - low, least) * 0.08, high + Math.max(high - low, least) * 0.08];
      const x = scale(...padded(ends((of) => of.time_pct), 1), left, right);
      const y = scale(...padded(ends((of) => of.loss_points), 0.1), bottom, top);
      const [xs, ys] = [ticks(x.from, x.to, width < 420 ? 4 : 7), ticks(y.from, y.to, 4)];
      axes(picture, {
        x, y, left, right, top, bottom, xTicks: xs.list, yTicks: ys.list,
        xText: (value) => number(value, xs.decimals), yText: (value) => number(value, ys.decimals), xLabel: "time saved, %", yLabel: "more loss, points",
      });
      picture.append(svg("path", { d: front.map((of, i) => `${i ? "L" : "M"}${round(x(of.time_pct))} ${round(y(of.loss_points))}`).join(""), class: "front" }));
      for (const of of front) {
        const arm = of.arm === tuned.tuned ? MARKED : ARM;
        const place = mark(arm, x(of.time_pct), y(of.loss_points), 6, of.within_limits ? {} : hollow(arm));
        place.setAttribute("data-tip", `${of.arm}: ${percent(of.time_pct)}, ${points(of.loss_points)} points of loss`);
        picture.append(place);
      }
    },
  });
  const row = (of) => html("tr", {}, head(of.arm), cell(percent(of.time_pct), "figure"), cell(points(of.loss_points), "figure"), cell(of.within_limits ? "" : "breaks a limit"));
  byId("front-table").append(rowsTable([["Arm"], ["time saved"], ["more loss", "points"], [""]], front.map(row)));
}

function trust() {
  if (!gain.arm) {
    byId("gains").append(html("p", { class: "how" }, "No candidate was better than the default in training, so nothing was judged."));
    byId("worlds").previousElementSibling.remove();
    byId("worlds").remove();
    return;
  }
  const rows = [
    ["Training", "where candidates were chosen", percent(gain.training), ""],
    ["Validation", "where the best were checked", percent(gain.validation), ""],
    ["Hold-out", "never met before", gain.holdout ? percent(gain.holdout.value) : MISSING, gain.holdout ? between(gain.holdout) : ""],
  ];
  const row = ([set, role, value, range]) => html("tr", {}, head(set), cell(role), cell(value, "figure"), cell(range, "figure"));
  byId("gains").append(rowsTable([["Set"], [gain.arm], ["gain", unit], ["95 % interval"]], rows.map(row)));
  const { worlds, arms } = tuned.decision;
  const effects = arms[0]?.effects ?? [];
  const line = (of, i) => html("tr", {}, head(worlds[i].words), cell(percent(of.time_pct.value), "figure"), cell(between(of.time_pct), "figure"),
    cell(points(of.loss_points.value), "figure"), cell(between(of.loss_points, 2), "figure"), cell(number(worlds[i].connections, 0), "figure"));
  byId("worlds").append(rowsTable([["Assumptions"], ["time saved"], ["95 % interval"], ["more loss", "points"], ["95 % interval"], ["connections"]], effects.map(line)));
}

words();
table();
profiles();
tradeoff();
trust();
finish();
