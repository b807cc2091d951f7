// The charts of reproductions: curves over a quantity, and values by row with intervals. Published values are dashed or hollow and in
// the text colour; measured values are filled and coloured.

// A series in the form that marks and swatches need.
function drawn(series) {
  let measured = 0;
  let quoted = 0;
  return series.map((one) => {
    const index = one.hue ?? (one.published ? 3 + quoted++ : measured++);
    return {
      ...one,
      colour: one.published && one.hue === null ? "var(--ink)" : `var(--arm-${index % COLOURS})`,
      shape: SHAPES[index % SHAPES.length],
    };
  });
}

const HOLLOW = (one) => (one.published ? { fill: "var(--card)", style: `stroke:${one.colour}`, "stroke-width": 0.35 } : {});

function key(one) {
  const line = svg("path", { d: "M1 7H25", stroke: one.colour, "stroke-width": 2, "stroke-dasharray": one.published ? "5 3" : null });
  return svg("svg", { viewBox: "0 0 26 14", width: 26, height: 14, class: "swatch", "aria-hidden": "true" }, one.dots ? null : line, one.published && !one.dots ? null : mark(one, 13, 7, 4.6, HOLLOW(one)));
}

// Maps a value to a position on an axis, linear or logarithmic.
function placed(axis, low, high, from, to) {
  const bend = axis.log ? Math.log10 : (value) => value;
  const straight = scale(bend(low), bend(high), from, to);
  const map = (value) => straight(bend(value));
  map.from = low;
  map.to = high;
  return map;
}

function placesOf(axis, map, count, wide) {
  if (axis.names.length) {
    const narrow = !wide && axis.names.length > 5;
    return axis.names.filter((_, i) => !narrow || i % 2 === 0).map(([at, text]) => ({ at, text }));
  }
  if (axis.log) {
    const list = [];
    for (let power = Math.floor(Math.log10(map.from)); power <= Math.ceil(Math.log10(map.to)); power++) {
      for (const factor of [1, 2, 5]) {
        const at = factor * 10 ** power;
        if (at >= map.from * 0.999 && at <= map.to * 1.001) list.push({ at, text: String(Number(at.toPrecision(3))) });
      }
    }
    return list;
  }
  const found = ticks(map.from, map.to, count);
  return found.list.map((at) => ({ at, text: number(at, found.decimals) }));
}

// The ends of an axis around its values.
function ends(axis, values) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (axis.log) return [low / 1.08, high * 1.08];
  if (axis.from_zero) low = Math.min(0, low);
  const span = high - low || Math.abs(high) || 1;
  return [low === 0 ? 0 : low - span * 0.06, high + span * 0.08];
}

const words = (spec, one) => `${one.name}: ${one.points.length > 8 ? `${plain(one.points[0][1])} to ${plain(one.points.at(-1)[1])}` : one.points.map(([, value]) => plain(value)).join(", ")}`;

// --- Curves ----------------------------------------------------------------------------------------------------

function lines(parent, spec, series) {
  const state = {};
  const plot = figure(parent, {
    name: spec.name,
    how: spec.how,
    height: (width) => (width < 480 ? 240 : 290),
    says: () => series.map((one) => words(spec, one)).join("; "),
    draw(picture, width, height) {
      const [left, right, top, bottom] = [52, width - 14, 26, height - 42];
      const all = series.flatMap((one) => one.points);
      const spans = series.flatMap((one) => one.spans.filter(Boolean).flat());
      const [xLow, xHigh] = spec.x.log ? ends(spec.x, all.map(([x]) => x)) : [Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x))];
      const x = placed(spec.x, xLow, xHigh, left, right);
      const y = placed(spec.y, ...ends(spec.y, [...all.map(([, value]) => value), ...spans, ...spec.bands.flatMap((band) => [band.from, band.to])]), bottom, top);
      const xs = placesOf(spec.x, x, width < 480 ? 4 : 7, width >= 480);
      const ys = placesOf(spec.y, y, 5, true);
      axes(picture, {
        x, y, left, right, top, bottom, xTicks: xs.map(({ at }) => at), yTicks: ys.map(({ at }) => at),
        xText: (value) => xs.find(({ at }) => at === value).text, yText: (value) => ys.find(({ at }) => at === value).text, xLabel: spec.x.label, yLabel: spec.y.label,
      });
      if (y.from < 0 && y.to > 0) picture.append(svg("path", { d: `M${left} ${round(y(0))}H${right}`, class: "zero" }));
      for (const band of spec.bands) {
        const [high, low] = [round(y(band.to)), round(y(band.from))];
        if (low - high > 1) picture.append(svg("rect", { x: left, y: high, width: right - left, height: low - high, class: "published-band" }));
        else picture.append(svg("path", { d: `M${left} ${high}H${right}`, class: "reference" }));
        picture.append(svg("text", { x: right - 4, y: high - 4, "text-anchor": "end", class: "reference-name" }, band.name));
      }
      series.forEach((one, index) => drawSeries(picture, one, index, series.length, x, y, spec.shape));
      Object.assign(state, { x, top, bottom });
    },
  });
  readAlong(plot, state, spec, series);
  return plot;
}

function drawSeries(picture, one, index, count, x, y, shape) {
  const places = one.points.map(([at, value]) => [round(x(at)), round(y(value))]);
  one.spans.forEach((span, i) => span && picture.append(svg("path", { d: `M${places[i][0]} ${round(y(span[0]))}V${round(y(span[1]))}`, class: "whisker", stroke: one.colour })));
  if (!one.dots) {
    const d = places.map(([px, py], i) => (i === 0 ? `M${px} ${py}` : shape === "step" ? `H${px}V${py}` : `L${px} ${py}`)).join("");
    picture.append(svg("path", { d, class: one.published ? "line published" : "line", stroke: one.colour }));
    if (one.published) return;
  }
  // A mark on every point where there are few, else some along the line, arms apart from each other.
  const few = one.dots || places.length <= 16;
  const gap = (x(x.to) - x(x.from)) / 6;
  let next = x(x.from) + gap * (0.3 + (0.6 * index) / count);
  for (const [px, py] of places) {
    if (!few && px < next) continue;
    picture.append(mark(one, px, py, one.dots ? 5.5 : 4, HOLLOW(one)));
    next += gap;
  }
}

// What every series has at the place under the pointer.
function readAlong(plot, state, spec, series) {
  const joined = series.filter((one) => one.points.length > 1);
  const hide = () => {
    byId("reading").hidden = true;
    plot.querySelector(".crosshair")?.remove();
  };
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("pointermove", (event) => {
    const { x, top, bottom } = state;
    const pixel = event.clientX - plot.getBoundingClientRect().left - 1;
    const all = joined.flatMap((one) => one.points.map(([at]) => at));
    if (!all.length) return;
    const place = all.reduce((best, at) => (Math.abs(x(at) - pixel) < Math.abs(x(best) - pixel) ? at : best));
    hide();
    plot.querySelector("svg").append(svg("path", { d: `M${round(x(place))} ${top}V${bottom}`, class: "crosshair" }));
    const rows = joined.map((one) => {
      const before = one.points.filter(([at]) => at <= place).at(-1);
      const near = one.points.reduce((best, point) => (Math.abs(x(point[0]) - x(place)) < Math.abs(x(best[0]) - x(place)) ? point : best));
      const point = spec.shape === "step" ? before : Math.abs(x(near[0]) - x(place)) < 12 ? near : null;
      return point && html("tr", {}, html("th", { scope: "row" }, key(one), html("span", { class: "name" }, one.name)), html("td", {}, plain(point[1])));
    });
    const name = spec.x.names.find(([at]) => at === place)?.[1];
    showReading(event, name ?? `${trimmed(place, 3)} ${spec.x.label.split(", ")[1] ?? ""}`, rows.filter(Boolean));
  });
}

// --- Rows ------------------------------------------------------------------------------------------------------

const LANE = 14;

function rowsChart(parent, spec, series) {
  const names = spec.y.names;
  const lanes = series.length;
  const longest = Math.max(...names.map(([, text]) => text.length));
  const above = (width) => 18 + longest * 7 > width * 0.42;
  const band = (width) => Math.max(26, lanes * LANE + 8) + (above(width) ? 17 : 0);
  const state = { top: 24 };
  return figure(parent, {
    name: spec.name,
    how: spec.how,
    height: (width) => state.top + names.length * band(width) + 42,
    says: () => names.map(([row, text]) => `${text}: ${series.map((one) => `${one.name} ${plain(one.points.find(([at]) => at === row)?.[1])}`).join(", ")}`).join("; "),
    draw(picture, width) {
      const tall = band(width);
      const head = above(width) ? 17 : 0;
      const values = series.flatMap((one) => one.points.map(([, value], i) => one.spans[i] ?? [value]).flat());
      const edges = spec.bands.flatMap((one) => [one.from, one.to]);
      const [left, right, top, bottom] = [head ? 12 : 18 + longest * 7, width - 18, state.top, state.top + names.length * tall];
      const x = placed(spec.x, ...ends(spec.x, [...values, ...edges, ...(spec.x.log ? [] : [0])]), left, right);
      const xs = placesOf(spec.x, x, width < 420 ? 4 : 6, width >= 420);
      names.forEach((_, i) => i % 2 === 0 && picture.append(svg("rect", { x: 0, y: top + i * tall, width, height: tall, class: "stripe" })));
      axes(picture, {
        x, y: (value) => value, left, right, top, bottom, xTicks: xs.map(({ at }) => at), yTicks: [],
        xText: (value) => xs.find(({ at }) => at === value).text, yText: String, xLabel: spec.x.label,
      });
      for (const one of spec.bands) {
        const [from, to] = [round(x(one.from)), round(x(one.to))];
        if (to - from > 1) picture.append(svg("rect", { x: from, y: top, width: to - from, height: bottom - top, class: "published-band" }));
        else picture.append(svg("path", { d: `M${from} ${top}V${bottom}`, class: "reference" }));
        const late = (from + to) / 2 > (left + right) / 2;
        picture.append(svg("text", { x: late ? to : from, y: top - 8, "text-anchor": late ? "end" : "start", class: "reference-name" }, one.name));
      }
      if (x.from <= 0) picture.append(svg("path", { d: `M${round(x(0))} ${top}V${bottom}`, class: "zero" }));
      names.forEach(([row, text], i) => {
        const start = top + i * tall;
        const middle = start + head + (tall - head) / 2;
        picture.append(svg("text", { x: 10, y: head ? start + 14 : middle + 4, class: "row-name" }, text));
        series.forEach((one, lane) => {
          const at = one.points.findIndex(([place]) => place === row);
          if (at < 0) return;
          const level = round(middle + (lane - (lanes - 1) / 2) * LANE);
          const [span, value] = [one.spans[at], one.points[at][1]];
          if (span) picture.append(svg("path", { d: `M${round(x(span[0]))} ${level}H${round(x(span[1]))}`, class: "whisker", stroke: one.colour }));
          const dot = mark(one, x(value), level, 5, HOLLOW(one));
          dot.setAttribute("data-tip", `${text}, ${one.name}: ${plain(value)}${span ? ` [${plain(span[0])} … ${plain(span[1])}]` : ""}`);
          picture.append(dot);
        });
      });
    },
  });
}

function chart(parent, spec) {
  const series = drawn(spec.series);
  const plot = spec.shape === "rows" ? rowsChart(parent, spec, series.map((one) => ({ ...one, dots: true }))) : lines(parent, spec, series);
  const caption = plot.parentElement.querySelector("figcaption");
  caption.querySelector("h3").append(" ", html("span", { class: "rows-of" }, spec.rows.join(", ")));
  const legend = spec.shape === "rows" ? series.map((one) => ({ ...one, dots: true })) : series;
  caption.append(html("div", { class: "legend" }, ...legend.map((one) => html("span", {}, key(one), one.name))));
}
