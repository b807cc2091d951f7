// Numbers as people write them.

const NARROW = "\u202f";
const MISSING = "–";

/** A name in so many letters, without its middle where it has more: paths and addresses differ at their ends. */
function shortened(name, letters) {
  const most = Math.max(5, Math.floor(letters));
  const start = Math.ceil((most - 1) / 3);
  return name.length <= most ? name : `${name.slice(0, start)}…${name.slice(name.length - (most - 1 - start))}`;
}

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
