// The data and what every other part asks of it: which arms there are, values at a time, numbers as people write them.

const report = JSON.parse(document.getElementById("data").textContent);

// Eight shapes and six colours: the pair repeats after 24 arms, and shape alone tells arms apart in black and white.
const SHAPES = ["circle", "square", "triangle", "diamond", "cross", "wedge", "bar", "plus"];
const COLOURS = 6;

const arms = report.series.map((series, index) => ({
  ...series,
  index,
  colour: `var(--arm-${index % COLOURS})`,
  shape: SHAPES[index % SHAPES.length],
  shown: true,
}));
const shownArms = () => arms.filter((arm) => arm.shown);

const endOf = (arm) => Math.max(arm.points.t_ms.at(-1) ?? 0, arm.phases.at(-1)?.end_ms ?? 0);
const SPAN = { from: 0, to: Math.max(1, ...arms.map(endOf)) * 1.01 };

// The part of the time axis on show, and which extra lines the window chart draws.
const view = { from: SPAN.from, to: SPAN.to, layers: { inflight: true, ssthresh: false, losses: true } };
const zoomed = () => view.from > SPAN.from || view.to < SPAN.to;

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

// The indices of the samples that matter for [from, to]: those inside and one on either side.
function inside(times, from, to) {
  return [Math.max(0, at(times, from)), Math.min(times.length - 1, at(times, to) + 1)];
}

// The largest and smallest value of a field over the shown arms in the time on show.
function extent(field) {
  let low = Infinity;
  let high = -Infinity;
  for (const arm of shownArms()) {
    const { t_ms } = arm.points;
    if (!t_ms.length || t_ms.at(-1) < view.from) continue;
    const first = Math.max(0, at(t_ms, view.from));
    const last = at(t_ms, view.to);
    for (let i = first; i <= last; i++) {
      const value = arm.points[field][i];
      if (value === null) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  return [low, high];
}

const phaseAt = (arm, t) => arm.phases.find((phase) => phase.start_ms <= t && t < phase.end_ms)?.name;

// --- Numbers ---------------------------------------------------------------------------------------------------

const NARROW = "\u202f";
const MISSING = "–";

function number(value, decimals) {
  const [whole, part] = Math.abs(value).toFixed(decimals).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, NARROW) : whole;
  const sign = value < 0 && Number(value.toFixed(decimals)) !== 0 ? "−" : "";
  return sign + grouped + (part ? "." + part : "");
}

// Decimals that leave `digits` significant ones.
function decimalsFor(value, digits) {
  const size = Math.abs(value);
  if (!(size > 0)) return 0;
  return Math.min(4, Math.max(0, digits - 1 - Math.floor(Math.log10(size) + 1e-9)));
}

const plain = (value, digits = 3) => (value === null || value === undefined ? MISSING : number(value, decimalsFor(value, digits)));

const BYTE_UNITS = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
const byteUnit = (value) => BYTE_UNITS.find(([size]) => Math.abs(value) >= size) ?? BYTE_UNITS.at(-1);

function bytes(value, digits = 3) {
  if (value === null || value === undefined) return MISSING;
  const [size, unit] = byteUnit(value);
  return `${trimmed(value / size, digits)}${NARROW}${unit}`;
}

// Without the zeros that say nothing: 375, not 375.0.
function trimmed(value, digits) {
  const decimals = decimalsFor(value, digits);
  return number(value, Number(value.toFixed(decimals)) === Math.round(value) ? 0 : decimals);
}

function time(ms, digits = 4) {
  if (ms === null || ms === undefined) return MISSING;
  return Math.abs(ms) >= 10000 ? `${trimmed(ms / 1000, digits)}${NARROW}s` : `${trimmed(ms, digits)}${NARROW}ms`;
}

function rate(mbps) {
  if (mbps === null || mbps === undefined) return "varies";
  if (mbps >= 1000) return `${trimmed(mbps / 1000, 4)}${NARROW}Gbit/s`;
  return mbps >= 1 ? `${trimmed(mbps, 4)}${NARROW}Mbit/s` : `${trimmed(mbps * 1000, 4)}${NARROW}kbit/s`;
}

// How long `amount` bytes take at the bottleneck.
const asTime = (amount) => (report.path.rate_mbps ? (amount * 8) / report.path.rate_mbps / 1000 : null);
