// What the reader does: choose arms and lines, read values under a line, zoom, switch light and dark, copy.

// --- Arms and lines --------------------------------------------------------------------------------------------

function legend() {
  for (const arm of arms) {
    const button = html("button", { type: "button", "aria-pressed": String(arm.shown), "data-toggle": arm.arm }, swatch(arm), arm.arm);
    button.addEventListener("click", () => {
      // Where data are computed anew, so are the arms.
      const now = arms[arm.index];
      now.shown = !now.shown;
      button.setAttribute("aria-pressed", now.shown);
      change();
    });
    byId("legend").append(button);
  }
  const names = { inflight: "in flight", ssthresh: "threshold", losses: "losses" };
  for (const [layer, name] of Object.entries(names)) {
    const box = html("input", { type: "checkbox", checked: view.layers[layer], "data-layer": layer });
    box.addEventListener("change", () => {
      view.layers[layer] = box.checked;
      change();
    });
    byId("layers").append(html("label", {}, box, name));
  }
}

function change(due) {
  render(undefined, due);
  read(null);
  byId("reset").disabled = !zoomed();
  byId("range").textContent = zoomed() ? `${time(view.from)} – ${time(view.to)}` : "";
  const list = shownArms().map((arm) => html("span", {}, swatch(arm), arm.arm));
  byId("print-legend").replaceChildren(...list, zoomed() ? `Shown: ${byId("range").textContent}` : "");
}

// --- Reading ---------------------------------------------------------------------------------------------------

let reading = null;

// Puts the reading line at time `t` in every chart and the values of the shown arms beside it; null takes them away.
// Only what the keyboard asked for is spoken: a pointer passes by too fast.
function read(t, where, spoken = "off") {
  reading = t;
  const panel = byId("reading");
  panel.setAttribute("aria-live", spoken);
  for (const chart of charts) chart.overlay.replaceChildren();
  panel.hidden = t === null;
  if (t === null) {
    delete byId("charts").dataset.reading;
    return;
  }
  byId("charts").dataset.reading = t;
  for (const chart of charts) crosshair(chart, t);
  const decimals = Math.max(0, Math.min(3, Math.ceil(-Math.log10((view.to - view.from) / 1000))));
  const head = html("tr", {}, html("th", { scope: "col" }, `${number(t, decimals)}${NARROW}ms`), ...["Window", "In flight", "Delivered", "Queue", "Phase"].map((name) => html("th", { scope: "col" }, name)));
  const rows = shownArms().map((arm) => {
    const i = at(arm.points.t_ms, t);
    const value = (field) => html("td", {}, i < 0 ? MISSING : bytes(arm.points[field][i]));
    const phase = phaseAt(arm, t) ?? (i >= 0 && t >= endOf(arm) ? "done" : MISSING);
    return html("tr", { "data-reading": arm.arm }, html("th", { scope: "row" }, swatch(arm), html("span", { class: "name" }, arm.arm)), value("cwnd"), value("inflight"), value("delivered_bytes"), value("queue_bytes"), html("td", {}, phase));
  });
  panel.replaceChildren(html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)));
  place(panel, where);
}

function crosshair(chart, t) {
  const { frame, overlay, y } = chart;
  const x = round(frame.x(t));
  overlay.append(svg("path", { d: `M${x} ${frame.top - 6}V${frame.bottom + (chart.below?.() ?? 0)}`, class: "crosshair" }));
  if (!chart.value) return;
  for (const arm of shownArms()) {
    const i = at(arm.points.t_ms, t);
    if (i < 0) continue;
    const value = chart.value(arm, i, t);
    if (value === null || value > y.to || value < y.from) continue;
    overlay.append(svg("circle", { cx: x, cy: round(y(value)), r: 3.2, fill: arm.colour, class: "dot" }));
  }
}

// Beside the pointer, on the side with room; on narrow screens CSS docks it to the lower edge.
function place(panel, where) {
  if (matchMedia("(max-width: 640px)").matches || !where) {
    panel.style.left = panel.style.top = "";
    return;
  }
  const { width, height } = panel.getBoundingClientRect();
  const page = document.documentElement;
  const right = where.x + 18 + width <= page.clientWidth - 8;
  const below = where.y + 18 + height <= page.clientHeight - 8;
  panel.style.left = `${Math.max(8, right ? where.x + 18 : where.x - 18 - width)}px`;
  panel.style.top = `${Math.max(8, below ? where.y + 18 : where.y - 18 - height)}px`;
}

// --- Zooming ---------------------------------------------------------------------------------------------------

function zoom(from, to) {
  const least = (SPAN.to - SPAN.from) / 20000;
  const length = Math.min(SPAN.to - SPAN.from, Math.max(least, to - from));
  view.from = Math.min(Math.max(SPAN.from, from), SPAN.to - length);
  view.to = view.from + length;
  if (length >= (SPAN.to - SPAN.from) * 0.9999) Object.assign(view, SPAN);
  change();
}
const showAll = () => zoom(SPAN.from, SPAN.to);

function pointer(chart) {
  const { plot } = chart;
  const timeOf = (event) => {
    const box = chart.svg.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) / box.width) * chart.frame.width;
    return Math.min(view.to, Math.max(view.from, chart.frame.x.back(pixel)));
  };
  let start = null;
  const selection = (to) => {
    for (const each of charts) {
      const [left, right] = [each.frame.x(Math.min(start.t, to)), each.frame.x(Math.max(start.t, to))];
      each.overlay.replaceChildren(svg("rect", { x: round(left), y: each.frame.top - 6, width: round(right - left), height: each.frame.bottom - each.frame.top + 6, class: "selection" }));
    }
    byId("reading").hidden = true;
  };
  plot.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    start = { t: timeOf(event), x: event.clientX };
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener("pointermove", (event) => {
    const t = timeOf(event);
    if (start && Math.abs(event.clientX - start.x) > 4) selection(t);
    else if (!start) read(t, { x: event.clientX, y: event.clientY });
  });
  plot.addEventListener("pointerup", (event) => {
    const from = start;
    start = null;
    if (!from) return;
    const t = timeOf(event);
    if (Math.abs(event.clientX - from.x) > 4) zoom(Math.min(from.t, t), Math.max(from.t, t));
    else read(t, { x: event.clientX, y: event.clientY });
  });
  plot.addEventListener("pointercancel", () => {
    start = null;
    read(null);
  });
  plot.addEventListener("pointerleave", (event) => {
    if (!start && event.pointerType === "mouse") read(null);
  });
  plot.addEventListener("dblclick", showAll);
  plot.addEventListener("blur", () => read(null));
  plot.addEventListener("keydown", (event) => keys(chart, event));
}

function keys(chart, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const length = view.to - view.from;
  const middle = reading ?? view.from + length / 2;
  const readAt = (t) => {
    const held = Math.min(view.to, Math.max(view.from, t));
    const box = chart.plot.getBoundingClientRect();
    read(held, { x: box.left + chart.frame.x(held), y: Math.max(0, box.top) + 20 }, "polite");
  };
  const about = (factor) => {
    zoom(middle - (middle - view.from) * factor, middle + (view.to - middle) * factor);
    readAt(middle);
  };
  const along = (part) => zoom(view.from + length * part, view.to + length * part);
  const acts = {
    ArrowLeft: () => (event.shiftKey ? along(-0.2) : readAt(middle - length / 200)),
    ArrowRight: () => (event.shiftKey ? along(0.2) : readAt(middle + length / 200)),
    Home: () => readAt(view.from),
    End: () => readAt(view.to),
    "+": () => about(0.5),
    "=": () => about(0.5),
    "-": () => about(2),
    Escape: showAll,
  };
  const act = acts[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}
