// Cells over time: goodput of every flow and the queue, with the algorithm in the seat and with the baseline.

const OTHERS = ["var(--arm-2)", "var(--arm-3)", "var(--arm-4)", "var(--arm-5)"];

// Values that each hold for a second.
const stairs = (values, x, y) => values.map((value, i) => `${i ? "V" : `M${round(x(0))} `}${round(y(value))}H${round(x(i + 1))}`).join("");

// Lines over seconds: `{ name, colour, shape, values }`.
function overTime(parent, { name, how, unit, lines }) {
  const seconds = Math.max(...lines.map(({ values }) => values.length));
  const most = Math.max(1e-9, ...lines.flatMap(({ values }) => values));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const legend = html("div", { class: "legend" });
  const named = lines.filter((line, i) => lines.findIndex((other) => other.name === line.name) === i);
  legend.append(...named.map((line) => html("span", {}, swatch({ colour: line.colour, shape: line.shape }), line.name)));
  figure(parent, {
    name,
    how,
    height: () => 190,
    says: () => lines.map((line) => `${line.name} ${plain(mean(line.values))} ${unit} on average`).join(", "),
    draw(drawn, width) {
      const [left, right, top, bottom] = [58, width - 14, 22, 150];
      const x = scale(0, seconds, left, right);
      const y = scale(0, most * 1.06, bottom, top);
      const [xs, ys] = [ticks(0, seconds, width < 420 ? 4 : 8), ticks(0, most, 4)];
      axes(drawn, { x, y, left, right, top, bottom, xTicks: xs.list, yTicks: ys.list, xText: (value) => number(value, xs.decimals), yText: (value) => number(value, ys.decimals), xLabel: "s", yLabel: unit });
      for (const { values, colour } of lines) drawn.append(svg("path", { d: stairs(values, x, y), class: "course", stroke: colour }));
    },
  }).before(legend);
}

function drawPlace(parent, { place, command }) {
  const boxes = html("div", {},
    html("h3", { class: "after" }, `${place.cell}, seed ${place.seed}`),
    html("p", { class: "how" }, `${place.about}: `, html("code", {}, place.path)),
    html("p", { class: "how" }, html("code", {}, command)));
  parent.append(boxes);
  place.runs.forEach((run, i) => {
    const roles = [...new Set(run.flows.map(({ role, arm }) => `${role}: ${arm}`))];
    const lines = run.flows.map(({ role, arm, x_mbps }) => {
      const name = `${role}: ${arm}`;
      const other = roles.filter((one) => !one.endsWith(`: ${run.seat}`)).indexOf(name);
      const look = other < 0 ? { colour: `var(--arm-${i})`, shape: SHAPES[i] } : { colour: OTHERS[other % OTHERS.length], shape: SHAPES[2 + (other % OTHERS.length)] };
      return { name, values: x_mbps, ...look };
    });
    const dropped = run.dropped.length ? ` ${plural(run.dropped.reduce((sum, count) => sum + count, 0), "packet")} dropped.` : "";
    overTime(boxes, { name: `Goodput with ${run.seat}`, how: `Mean of each second; at most eight flows.${dropped}`, unit: "Mbit/s", lines });
  });
  const queues = place.runs.map((run, i) => ({ name: run.seat, values: run.queue_ms, colour: `var(--arm-${i})`, shape: SHAPES[i] })).filter(({ values }) => values.length);
  if (queues.length) overTime(boxes, { name: "Queueing delay", how: "Maximum of each second.", unit: "ms", lines: queues });
}
