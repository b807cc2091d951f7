// Sliders of a path and an object: each reads and writes a key of what is asked for, as text.

// A path is a name or keys, separated by commas; later keys take the place of those of the name.
const keyOf = (part) => part.split("=")[0].trim();
const pathValue = (text, key) => text.split(",").find((part) => keyOf(part) === key)?.split("=").slice(1).join("=");

function withKey(text, key, value) {
  const parts = text.split(",").map((part) => part.trim()).filter(Boolean);
  const place = parts.findIndex((part) => keyOf(part) === key);
  const part = value === null ? [] : [value === "" ? key : `${key}=${value}`];
  if (place >= 0) parts.splice(place, 1, ...part);
  else parts.push(...part);
  return parts.join(",");
}

const logarithmic = (from, to) => ({
  at: (position) => from * (to / from) ** (position / 1000),
  position: (value) => 1000 * Math.log(Math.min(to, Math.max(from, value)) / from) / Math.log(to / from),
});
const linear = (from, to) => ({
  at: (position) => from + ((to - from) * position) / 1000,
  position: (value) => 1000 * (Math.min(to, Math.max(from, value)) - from) / (to - from),
});
// Two significant digits are as fine as a hand is.
const tidy = (value, digits = 2) => Number(value.toPrecision(digits));

const SECONDS = { us: 1e-3, ms: 1, s: 1e3 };
const asMs = (text) => {
  const [, number, unit] = /^([\d.]+)(us|ms|s)$/.exec(text ?? "") ?? [];
  return unit ? number * SECONDS[unit] : 0;
};
const MBITS = { bit: 1e-6, kbit: 1e-3, Mbit: 1, Gbit: 1e3 };
const asMbit = (text) => {
  const [, number, unit] = /^([\d.]+)([kMG]?bit)$/.exec(text ?? "") ?? [];
  return unit ? number * MBITS[unit] : NaN;
};
const asPercent = (text) => (text?.endsWith("%") ? Number.parseFloat(text) : 100 * (Number(text) || 0));

const PATH_SLIDERS = [
  { key: "rate", label: "Rate", ...logarithmic(0.5, 1000), text: (x) => `${tidy(x)}Mbit`, show: (x) => rate(tidy(x)), read: (path) => path.rate_mbps },
  { key: "rtt", label: "Round trip", ...logarithmic(2, 800), text: (x) => `${tidy(x)}ms`, show: (x) => time(tidy(x)), read: (path) => path.rtt_ms },
  { key: "queue", label: "Queue", ...logarithmic(0.05, 10), text: (x) => `${tidy(x)}bdp`, show: (x) => `${tidy(x)} BDP`, read: (path) => path.queue_bytes / path.bdp_bytes },
  { key: "loss", label: "Random loss", ...linear(0, 5), text: (x) => (x ? `${tidy(x)}%` : null), show: (x) => `${tidy(x)} %`, read: (path) => asPercent(pathValue(path.text, "loss")) },
  { key: "jitter", label: "Jitter", ...linear(0, 50), text: (x) => (x ? `${tidy(x)}ms` : null), show: (x) => time(tidy(x)), read: (path) => asMs(pathValue(path.text, "jitter")) },
];
// Another rate or round trip keeps the queue at as many BDPs, unless the path already says it in BDPs.
function withSlider(text, path, key, value) {
  const moved = withKey(text, key, value);
  // An end needs a loss.
  if (key === "loss" && value === null) return withKey(moved, "loss_until", null);
  const bdps = path.queue_bytes / path.bdp_bytes;
  const inBdps = /bdp$/.test(pathValue(path.text, "queue") ?? "");
  if (!["rate", "rtt"].includes(key) || inBdps || !(bdps > 0) || !Number.isFinite(bdps)) return moved;
  return withKey(moved, "queue", `${tidy(bdps, 3)}bdp`);
}
const SIZES = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

function sizeText(value) {
  const [unit, name] = SIZES.find(([unit]) => value >= unit);
  return `${tidy(value / unit)}${name}`;
}
const TRANSFER_SLIDERS = [
  { key: "bytes", label: "Object", ...logarithmic(1e4, 1e8), text: sizeText, show: (x) => bytes(tidy(x)) },
];

function sliderRow(slider, edit) {
  slider.output = html("output", { id: `${slider.key}-shown` });
  slider.input = html("input", { type: "range", min: 0, max: 1000, step: 1, id: `slider-${slider.key}`, "aria-describedby": slider.output.id });
  slider.input.addEventListener("input", () => {
    const value = slider.at(slider.input.valueAsNumber);
    showSlider(slider, value);
    edit(slider, slider.text(value));
  });
  return html("div", { class: "slider" }, html("label", { for: slider.input.id }, slider.label), slider.output, slider.input);
}

function showSlider(slider, value) {
  const known = Number.isFinite(value);
  slider.output.textContent = known ? slider.show(value) : "as written";
  slider.input.setAttribute("aria-valuetext", slider.output.textContent);
  if (known && document.activeElement !== slider.input) slider.input.value = slider.position(value);
}
