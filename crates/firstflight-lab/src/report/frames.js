// Frames of charts that stand still: figures that are drawn anew at the width the page offers, axes, tables, and the reading line.

const signed = (value, decimals) => (Number(value.toFixed(decimals)) > 0 ? "+" : "") + number(value, decimals);

const drawings = [];

// A figure that `draw(frame, svg)` fills whenever the width changes.
function figure(parent, { name, how, height, draw, says }) {
  const picture = svg("svg", { role: "img", "aria-label": says ? `${name}: ${says()}` : name });
  const plot = html("div", { class: "plot still" }, picture);
  parent.append(html("figure", {}, html("figcaption", {}, html("h3", {}, name), how ? html("p", { class: "how" }, how) : null), plot));
  drawings.push((width) => {
    const wide = Math.max(220, Math.floor(width ?? plot.clientWidth));
    const tall = typeof height === "function" ? height(wide) : height;
    picture.setAttribute("viewBox", `0 0 ${wide} ${tall}`);
    picture.setAttribute("width", wide);
    picture.setAttribute("height", tall);
    picture.replaceChildren();
    draw(picture, wide, tall);
  });
  return plot;
}

function axes(picture, { x, y, left, right, top, bottom, xTicks, yTicks, xLabel, yLabel, xText, yText }) {
  const group = svg("g", {});
  for (const value of yTicks) {
    const at = round(y(value));
    group.append(svg("path", { d: `M${left} ${at}H${right}`, class: "grid" }), svg("text", { x: left - 7, y: at + 4, "text-anchor": "end" }, yText(value)));
  }
  for (const value of xTicks) {
    const at = round(x(value));
    group.append(svg("path", { d: `M${at} ${top}V${bottom}`, class: "grid" }), svg("text", { x: at, y: bottom + 17, "text-anchor": "middle" }, xText(value)));
  }
  group.append(svg("path", { d: `M${left} ${bottom}H${right}`, class: "axis" }));
  if (xLabel) group.append(svg("text", { x: right, y: bottom + 33, "text-anchor": "end", class: "axis-name" }, xLabel));
  if (yLabel) group.append(svg("text", { x: left, y: top - 7, class: "axis-name" }, yLabel));
  picture.append(group);
}

// A scale on which equal factors are equally far apart.
function byFactor(from, to, low, high) {
  const straight = scale(Math.log10(from), Math.log10(to), low, high);
  const map = (value) => straight(Math.log10(Math.min(to, Math.max(from, value))));
  return Object.assign(map, { from, to });
}

function factors(from, to, most) {
  const steps = (per) => {
    const list = [];
    for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
      for (const factor of per) {
        const value = factor * 10 ** power;
        if (value >= from * 0.999 && value <= to * 1.001) list.push(value);
      }
    }
    return list;
  };
  const fine = steps([1, 2, 5]);
  const coarse = steps([1]);
  return fine.length <= most ? fine : coarse.filter((_, i) => i % Math.ceil(coarse.length / most) === 0);
}

// Room around the values, so that nothing lies on the edge.
function room(low, high, least = 0) {
  const span = Math.max(high - low, least);
  const middle = (low + high) / 2;
  return [Math.max(low >= 0 ? 0 : -Infinity, middle - span * 0.68), middle + span * 0.68];
}

// Puts the signs of arms before their names in the first columns of tables that are HTML already.
function sign(box, arms) {
  for (const cell of box.querySelectorAll("table.rows td:first-child")) {
    const arm = arms.find((one) => one.arm === cell.textContent.replace(/ =$/, ""));
    if (arm) cell.prepend(swatch(arm));
  }
}

// A table in the style of results; columns are pairs of a label and a unit.
function rowsTable(columns, rows) {
  const head = columns.map(([label, unit]) => html("th", { scope: "col" }, html("span", { class: "head" }, label, html("small", {}, unit ?? ""))));
  return html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
}

// The reading panel beside the pointer: a head and a row per series.
function showReading(event, head, rows) {
  const panel = byId("reading");
  panel.replaceChildren(html("table", {}, html("thead", {}, html("tr", {}, html("th", {}, head))), html("tbody", {}, ...rows)));
  panel.hidden = false;
  const wide = document.documentElement.clientWidth;
  panel.style.left = `${event.clientX + 18 + panel.offsetWidth > wide ? event.clientX - panel.offsetWidth - 18 : event.clientX + 18}px`;
  panel.style.top = `${event.clientY + 14}px`;
}

const drawAll = (width) => drawings.forEach((draw) => draw(width));

// Draws everything now and whenever the page's width changes.
function keepDrawn() {
  drawAll();
  let drawn = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== drawn) drawAll();
    drawn = innerWidth;
  });
}

// The end of every page of charts that stand still: what works on all that has been drawn.
function finish() {
  theme();
  copy();
  tips();
  keepDrawn();
  saves();
  root.ready = "";
}
