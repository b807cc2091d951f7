// The data and what every other part asks of it: which arms there are, values at a time, numbers as people write them.

let report = null;
let arms = [];
let SPAN = { from: 0, to: 1 };

const shownArms = () => arms.filter((arm) => arm.shown);

const endOf = (arm) => Math.max(arm.points.t_ms.at(-1) ?? 0, arm.phases.at(-1)?.end_ms ?? 0);

// The part of the time axis on show, and which extra lines the window chart draws.
const view = { ...SPAN, layers: { inflight: true, ssthresh: false, losses: true } };
const zoomed = () => view.from > SPAN.from || view.to < SPAN.to;

// Takes these data as what is shown: once in a page that was written with them, again and again where they are computed.
// An arm that was hidden stays hidden, and a part of the time axis that was chosen stays chosen.
function use(data) {
  const hidden = new Set(arms.filter((arm) => !arm.shown).map((arm) => arm.arm));
  const chosen = zoomed();
  report = data;
  arms = report.series.map((series, index) => ({
    ...series,
    index,
    ...lookOf(series.look),
    shown: !hidden.has(series.arm),
  }));
  SPAN = { from: 0, to: Math.max(1, ...arms.map(endOf)) * 1.01 };
  if (!chosen || view.from >= SPAN.to) Object.assign(view, SPAN);
  view.to = Math.min(view.to, SPAN.to);
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

// How long `amount` bytes take at the bottleneck.
const asTime = (amount) => (report.path.rate_mbps ? (amount * 8) / report.path.rate_mbps / 1000 : null);
