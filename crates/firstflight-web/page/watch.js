// The chosen arm from inside: its signals over time, what it did and by which rule, one ACK at a time.

let signals = null;
let events = [];

const SIGNAL_COLOURS = ["var(--arm-0)", "var(--arm-2)", "var(--arm-3)", "var(--arm-4)", "var(--arm-1)", "var(--arm-5)"];

// Curves of one unit share the chart: those with a threshold first, which is what decides.
function shownCurves() {
  const curves = signals?.curves ?? [];
  const unit = (curves.find((curve) => curve.threshold) ?? curves[0])?.unit;
  return curves.filter((curve) => curve.unit === unit);
}

charts.splice(3, 0, {
  id: "signals",
  get title() {
    return `Internal signals of ${arms[chosen]?.arm ?? "the chosen arm"}`;
  },
  how: "Solid lines: what the algorithm measures. Dashed lines: the thresholds it compares with. Vertical lines: the events listed below.",
  height: (width) => (width < 560 ? 190 : 230),
  draw: drawSignals,
  says: () => "",
});

function drawSignals(g, frame, chart) {
  chart.y = null;
  const curves = shownCurves();
  const upright = events.filter(({ t_ms }) => t_ms >= view.from && t_ms <= view.to).map(({ t_ms }) => `M${round(frame.x(t_ms))} ${frame.top}V${frame.bottom}`);
  g.append(svg("path", { d: upright.join(""), class: "event" }));
  const all = curves.flatMap((curve) => curve.values.filter((value, i) => value !== null && signals.t_ms[i] >= view.from && signals.t_ms[i] <= view.to));
  if (!all.length) {
    g.append(svg("text", { x: frame.left + 8, y: frame.top + 16, class: "tick" }, "No signal changes in this range."));
    return;
  }
  const low = Math.min(...all);
  const high = Math.max(...all);
  const room = (high - low || high || 1) * 0.06;
  const y = scale(Math.max(0, low - room), high + room, frame.bottom, frame.top);
  const { list, decimals } = ticks(y.from, y.to, (frame.bottom - frame.top) / 48);
  for (const tick of list) {
    const row = round(y(tick));
    g.append(svg("path", { d: `M${frame.left} ${row}H${frame.right}`, class: "grid" }));
    const text = number(tick, decimals) + (tick === list.at(-1) ? NARROW + curves[0].unit : "");
    g.append(svg("text", { x: frame.left - 7, y: row + 4, class: "tick", "text-anchor": "end" }, curves[0].unit === "bytes" ? bytes(tick) : text));
  }
  const lines = svg("g", { "clip-path": "url(#signals-clip)" });
  curves.forEach((curve, index) => lines.append(svg("path", {
    d: staircase(signals.t_ms, curve.values, frame.x, y),
    stroke: SIGNAL_COLOURS[index % SIGNAL_COLOURS.length],
    class: `line thin${curve.threshold ? " threshold" : ""}`,
  })));
  g.append(lines);
}

// What the charts draw of it.
function curves(seen) {
  signals = seen.signals;
  events = seen.events[chosen] ?? [];
}

// The same as a list, and its key.
function listInside() {
  byId("events-of").textContent = arms[chosen]?.arm ?? "no arm";
  byId("events").replaceChildren(...events.map(({ t_ms, rule, says }) => {
    const go = html("button", { type: "button", class: "event-entry" }, html("span", { class: "when" }, time(t_ms)), html("span", {}, says), html("small", {}, rule));
    go.addEventListener("click", () => step(0, t_ms));
    return html("li", {}, go);
  }));
  const key = shownCurves().map((curve, index) => html("span", {}, html("i", { class: "signal-key", "data-signal": index }), `${curve.name.replace(/_(ns|bytes|kbps|mbps|percent)\b/, "")}${curve.threshold ? " (threshold)" : ""}`));
  byId("signal-key").replaceChildren(...key);
  for (const mark of byId("signal-key").querySelectorAll("i")) mark.style.background = SIGNAL_COLOURS[mark.dataset.signal % SIGNAL_COLOURS.length];
  byId("step").hidden = true;
  byId("step-at").textContent = "";
}

// --- Step by step ----------------------------------------------------------------------------------------------

let stepped = null;

// One ACK or timer further, or the one at a time.
async function step(by, at) {
  const from = at ?? stepped ?? reading ?? 0;
  const answer = await engine.ask({ do: "step", arm: chosen, at_ms: from, by });
  if (!answer.ok) return say(answer.text);
  const one = JSON.parse(answer.text);
  stepped = one.t_ms;
  if (one.t_ms < view.from || one.t_ms > view.to) showAll();
  read(one.t_ms, null);
  byId("reading").hidden = true;
  byId("step-at").textContent = `${one.event} ${one.index + 1} of ${one.of}, ${number(one.t_ms, 3)}${NARROW}ms`;
  byId("step").hidden = false;
  byId("step").replaceChildren();
  detail(one);
}

function detail(one) {
  const inner = Object.entries(one.signals).map(([name, value]) => [name, name.endsWith("_ns") ? `${number(value / 1e6, 3)}${NARROW}ms` : String(value)]);
  facts(byId("step"), [
    ["Phase", one.phase],
    ["cwnd", bytes(one.cwnd, 5)],
    ["ssthresh", one.ssthresh === null ? "not set" : bytes(one.ssthresh, 5)],
    ["In flight", bytes(one.inflight, 5)],
    ["Delivered", bytes(one.delivered_bytes, 5)],
    ["Queue", bytes(one.queue_bytes, 5)],
    ["Lost now", one.lost_bytes ? bytes(one.lost_bytes) : null],
    ["RTT", one.rtt_ms === null ? null : time(one.rtt_ms, 5)],
    ["Pacing", one.pacing_mbps === null ? null : rate(one.pacing_mbps)],
    ["Rule", one.events.map(({ rule, says }) => `${rule}: ${says}`).join("; ") || null, "wide"],
    ...inner,
  ]);
}
