// Drawing: elements, scales, ticks, marks and lines, each knowing nothing of the report.

const SVG = "http://www.w3.org/2000/svg";

// `svg("path", { d }, child, ...)` and `html("td", { class }, "text", ...)`; text is always set as text, never parsed.
const build = (make) => (name, attributes = {}, ...children) => {
  const element = make(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};
const svg = build((name) => document.createElementNS(SVG, name));
const html = build((name) => document.createElement(name));
const byId = (id) => document.getElementById(id);

// Eight shapes and six colours: which pair an arm has is the same on every page, and shape alone tells arms apart in
// black and white.
const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "wedge", "bar", "plus"];
const COLOURS = 6;
const lookOf = (look) => ({ colour: `var(--arm-${look % COLOURS})`, shape: SHAPES[look % SHAPES.length] });

// The index of the last sample at or before `t`; -1 before the first. Samples hold until the next one.
function at(times, t) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// From values to pixels and back.
function scale(from, to, low, high) {
  const factor = (high - low) / (to - from || 1);
  const map = (value) => low + (value - from) * factor;
  map.back = (pixel) => from + (pixel - low) / factor;
  map.from = from;
  map.to = to;
  return map;
}

// About `count` round steps between `from` and `to`.
function ticks(from, to, count) {
  const rough = (to - from) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const list = [];
  for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) list.push(i * step);
  const decimals = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step) + (step / power === 2.5 ? 1 : 0) - 1e-9)));
  return { list, step, decimals };
}

const round = (pixel) => Math.round(pixel * 10) / 10;

// A line of samples that hold until the next: a staircase, so that silence is flat and a cut is upright.
// Gaps (null) break the line.
function staircase(times, values, x, y) {
  const [first, last] = inside(times, x.from, x.to);
  const left = x(x.from) - 4;
  const right = x(x.to) + 4;
  const px = (i) => round(Math.min(right, Math.max(left, x(times[i]))));
  let d = "";
  // Where the line is; null where there is none. A step that no pixel shows is none.
  let height = null;
  for (let i = first; i <= last; i++) {
    const next = values[i] === null ? null : round(y(values[i]));
    if (next === height && i < last) continue;
    if (height !== null) d += `H${px(i)}`;
    if (next !== null) d += height === null ? `M${px(i)} ${next}` : `V${next}`;
    height = next;
  }
  return d;
}

const SHAPE_PATHS = {
  circle: "M-1 0A1 1 0 1 1 1 0A1 1 0 1 1-1 0Z",
  square: "M-.88-.88H.88V.88H-.88Z",
  triangle: "M0-1.15L1.1.8H-1.1Z",
  diamond: "M0-1.3L1.15 0L0 1.3L-1.15 0Z",
  cross: "M-1-.55L-.55-1L0-.45L.55-1L1-.55L.45 0L1 .55L.55 1L0 .45L-.55 1L-1 .55L-.45 0Z",
  wedge: "M0 1.15L1.1-.8H-1.1Z",
  bar: "M-.5-1.2H.5V1.2H-.5Z",
  plus: "M-.35-1.1H.35V-.35H1.1V.35H.35V1.1H-.35V.35H-1.1V-.35H-.35Z",
};

// The mark of an arm at a place; a rim in the colour of the page keeps it readable on lines of the same colour.
function mark(arm, x, y, size, attributes = {}) {
  return svg("path", {
    d: SHAPE_PATHS[arm.shape],
    transform: `translate(${round(x)} ${round(y)}) scale(${size})`,
    fill: arm.colour,
    class: "mark",
    "stroke-width": 1.6 / size,
    ...attributes,
  });
}

// The mark on a piece of line, as legend, table and readings show it.
function swatch(arm) {
  return svg(
    "svg",
    { viewBox: "0 0 26 14", width: 26, height: 14, class: "swatch", "aria-hidden": "true" },
    svg("path", { d: "M1 7H25", stroke: arm.colour, "stroke-width": 2 }),
    mark(arm, 13, 7, 4.6),
  );
}

// Positions that are closer than `gap` pixels become one stretch, so that a thousand losses are one bar.
function stretches(positions, gap) {
  const list = [];
  for (const position of positions) {
    const last = list.at(-1);
    if (last && position - last[1] <= gap) last[1] = position;
    else list.push([position, position]);
  }
  return list;
}
