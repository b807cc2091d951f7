// The page of a diff: draws changes as ratios; the tables are HTML.

const { diff } = report;
const arms = report.arms.map(([arm, look]) => ({ arm, ...lookOf(look) }));
const armOf = (name) => arms.find(({ arm }) => arm === name);
const { changes } = diff;
// Of a test the picture shows the whole, of several paths the first.
const first = changes.find(({ of }) => of === "all")?.of ?? changes[0]?.of;
const LANE = 11;
const MOST_MEASURES = 10;
const label = ({ measure }) => report.labels[measure] ?? measure;

function words() {
  byId("finding").textContent = report.finding;
  byId("lead").textContent = `Before: ${report.before}. After: ${report.after}.`;
  byId("command").textContent = report.command;
  sign(document, arms);
}

const percent = ({ change_pct: change }) => (change === null ? MISSING : `${signed(change, 1)}${NARROW}%`);

function picture() {
  const shown = changes.filter(({ of, sense, before, after }) => of === first && sense !== "other" && before > 0 && after > 0);
  if (!shown.length) return;
  // The completion time comes first, then what changed most.
  const moved = (measure) => Math.max(...shown.filter((change) => change.measure === measure).map(({ before, after }) => Math.abs(Math.log(after / before))));
  const [head, ...others] = [...new Set(shown.map(({ measure }) => measure))];
  const measures = [head, ...others.toSorted((a, b) => moved(b) - moved(a)).slice(0, MOST_MEASURES - 1)];
  const ratios = shown.filter(({ measure }) => measures.includes(measure)).map(({ before, after }) => after / before);
  const reach = Math.max(1.05, ...ratios, ...ratios.map((ratio) => 1 / ratio)) ** 1.08;
  const height = arms.length * LANE + 28;
  byId("picture").before(html("div", { class: "legend" }, ...arms.map((arm) => html("span", {}, swatch(arm), arm.arm))));
  figure(byId("picture"), {
    name: `After over before${new Set(changes.map(({ of }) => of)).size > 1 ? `: ${first}` : ""}`,
    how: "A mark for each arm; on the line at 1 nothing changed, and equal factors are equally far apart. The completion time first, then what changed most of what has a better end.",
    height: () => 22 + measures.length * height + 40,
    says: () => shown.map((change) => `${label(change)} of ${change.arm} ${percent(change)}`).join(", "),
    draw(drawn, width) {
      const [left, right, top, bottom] = [12, width - 14, 22, 22 + measures.length * height];
      const x = byFactor(1 / reach, reach, left + 10, right - 10);
      const near = reach < 1.6 ? ticks(1 / reach, reach, width < 480 ? 4 : 8).list : factors(1 / reach, reach, width < 480 ? 4 : 9);
      measures.forEach((_, i) => i % 2 === 0 && drawn.append(svg("rect", { x: 0, y: top + i * height, width, height, class: "stripe" })));
      axes(drawn, { x, y: (value) => value, left, right, top, bottom, xTicks: near, yTicks: [], xText: (value) => String(Number(value.toPrecision(3))), yText: String, xLabel: "after over before" });
      drawn.append(svg("path", { d: `M${round(x(1))} ${top}V${bottom}`, class: "zero" }));
      measures.forEach((measure, row) => {
        drawn.append(svg("text", { x: left, y: top + row * height + 14, class: "row-name" }, label({ measure })));
        shown.filter((change) => change.measure === measure).forEach((change) => {
          const lane = arms.indexOf(armOf(change.arm));
          const sign = mark(armOf(change.arm), x(change.after / change.before), top + row * height + 25 + lane * LANE, 4.4);
          sign.setAttribute("data-tip", `${label(change)} of ${change.arm}: ${plain(change.before, 4)} → ${plain(change.after, 4)}, ${percent(change)}`);
          drawn.append(sign);
        });
      });
    },
  });
}

words();
picture();
finish();
