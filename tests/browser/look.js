// What a reader would complain about on the page that is open, a line each: sideways overflow, text
// that is cut off, overlaps or is faint, controls too small for a finger. `look.py` runs it with the
// width that the page was given; which kinds of complaints are looked for is the second argument.
const [width, kinds] = arguments;
const complaints = new Map();

const place = (element) => {
  const path = [];
  for (let one = element; one && one !== document.body && path.length < 4; one = one.parentElement) {
    const names = [...one.classList].map((name) => `.${name}`).join("");
    path.unshift(one.localName + (one.id ? `#${one.id}` : "") + names);
    if (one.id) break;
  }
  return path.join(" > ");
};
/** Complaints of one kind at one place are one line: the text is an example. */
const complain = (kind, element, text) => {
  const key = `${kind} ${place(element)}`;
  const said = complaints.get(key);
  if (said) said.times += 1;
  else complaints.set(key, { text, times: 1 });
};
const quote = (text) => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 60));

const styles = new Map();
const style = (element) => {
  if (!styles.has(element)) styles.set(element, getComputedStyle(element));
  return styles.get(element);
};
const frames = new Map();
const frame = (element) => {
  if (!frames.has(element)) frames.set(element, element.getBoundingClientRect());
  return frames.get(element);
};
const ancestors = function* (element) {
  for (let one = element; one; one = one.parentElement) yield one;
};

// ---- What is seen -------------------------------------------------------------------------------

const SILENT = "script, style, noscript, title, desc, option, optgroup, template";
const hidden = (element) => {
  for (const one of ancestors(element)) {
    const { clipPath, clip, position } = style(one);
    if (clipPath === "inset(50%)" || (position === "absolute" && clip.startsWith("rect("))) return true;
  }
  return !element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
};
const scrolls = (value) => value === "auto" || value === "scroll";
const clips = (value) => value === "hidden" || value === "clip";
const intersection = (a, b) => ({
  left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom),
});
const empty = (box) => box.right - box.left < 1 || box.bottom - box.top < 1;

/** What is left of a box in the windows of the elements around it, and who cuts it off, if one does. */
const seen = (element, box) => {
  let cut = null;
  for (const one of ancestors(element)) {
    if (one === document.body || one === document.documentElement) break;
    // What stands fixed is cut by nothing but the window.
    if (style(one).position === "fixed") return { box, cut };
    const { overflowX, overflowY } = style(one);
    const svg = one instanceof SVGSVGElement;
    if (overflowX === "visible" && overflowY === "visible") continue;
    if (one instanceof SVGElement && !svg) continue;
    const around = frame(one);
    // Descenders may reach below a box: what cannot be missed of a letter is not cut.
    if (clips(overflowX) && (box.left < around.left - 1.5 || box.right > around.right + 1.5)) cut ??= one;
    if (clips(overflowY) && (box.top < around.top - 4 || box.bottom > around.bottom + 4)) cut ??= one;
    if (scrolls(overflowX) || scrolls(overflowY)) {
      box = intersection(box, around);
      if (empty(box)) return { box, cut: null };
    }
  }
  return { box, cut };
};

const texts = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode;
  const element = node.parentElement;
  if (!node.data.trim() || element.closest(SILENT) || hidden(element)) continue;
  // The browser calls a folded element itself visible.
  if (element instanceof HTMLDetailsElement && !element.open) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()].filter((box) => !empty(box));
  // What is kept beside the page, such as a drawer or a link for those who do not see, is not on it.
  const away = (box) => box.right <= 0 || (box.left >= width && !scrolling(element));
  texts.push({ node, element, boxes: boxes.filter((box) => !away(box)) });
}
function scrolling(element) {
  return [...ancestors(element)].some((one) => one !== document.body && one !== document.documentElement
    && scrolls(style(one).overflowX));
}

// ---- Overflow and cut text ----------------------------------------------------------------------

const overflow = () => {
  const whole = document.documentElement.scrollWidth;
  if (whole <= width) return;
  const wide = [...document.body.querySelectorAll("*")].filter((one) => !scrolling(one.parentElement)
    && one.getBoundingClientRect().right > width + 0.5 && style(one).position !== "fixed");
  complain("overflow", wide.at(-1) ?? document.body, `the page is ${whole} px wide in a window of ${width}`);
};

const cutText = () => {
  for (const one of texts) {
    one.seen = [];
    for (const box of one.boxes) {
      const { box: left, cut } = seen(one.element, box);
      if (cut) complain("cut", one.element, `${quote(one.node.data)} is cut off by ${place(cut)}`);
      if (!empty(left)) one.seen.push(left);
    }
  }
};

// ---- Overlaps -----------------------------------------------------------------------------------

const floating = (element) => [...ancestors(element)].some((one) => ["fixed", "sticky"].includes(style(one).position));
const overlaps = () => {
  const all = [];
  for (const { node, element, seen: boxes } of texts) {
    for (const box of boxes) {
      // Between lines fonts keep room that no letter uses.
      const air = (box.bottom - box.top) * 0.25;
      all.push({ node, element, left: box.left + 1, right: box.right - 1, top: box.top + air, bottom: box.bottom - air });
    }
  }
  all.sort((a, b) => a.top - b.top);
  all.forEach((one, index) => {
    for (let next = index + 1; next < all.length && all[next].top < one.bottom; next += 1) {
      const other = all[next];
      if (other.node === one.node) continue;
      const both = intersection(one, other);
      if (both.right - both.left < 2 || both.bottom - both.top < 2) continue;
      if (floating(one.element) !== floating(other.element)) continue;
      complain("overlap", one.element, `${quote(one.node.data)} and ${quote(other.node.data)} overlap`);
    }
  });
};

// ---- Contrast: WCAG 2.2, 1.4.3 ------------------------------------------------------------------

const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const colours = new Map();
/** Red, green, blue and alpha of any colour that CSS can say, 0 to 1. */
const colour = (text) => {
  if (!colours.has(text)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    colours.set(text, [...canvas.getImageData(0, 0, 1, 1).data].map((part) => part / 255));
  }
  return colours.get(text);
};
const over = (top, alpha, below) => below.map((part, index) => top[index] * alpha + part * (1 - alpha));
const luminance = (rgb) => {
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
};
const contrast = (a, b) => {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
};
const opacity = (element, until) => {
  let product = 1;
  for (const one of ancestors(element)) {
    if (one === until) break;
    product *= Number(style(one).opacity);
  }
  return product;
};

const probe = document.createElement("i");
probe.style.backgroundColor = "Canvas";
document.documentElement.append(probe);
const paper = colour(getComputedStyle(probe).backgroundColor).slice(0, 3);
probe.remove();

const grounds = new Map();
/** The colour behind an element's text, from its own background down to the paper. */
const ground = (element) => {
  if (!element) return paper;
  if (!grounds.has(element)) {
    const [r, g, b, alpha] = colour(style(element).backgroundColor);
    grounds.set(element, alpha === 0 ? ground(element.parentElement)
      : over([r, g, b], alpha * Number(style(element).opacity), ground(element.parentElement)));
  }
  return grounds.get(element);
};

const drawn = new Map();
/** Filled shapes of a picture in the order in which they are painted. */
const shapes = (svg) => {
  if (!drawn.has(svg)) {
    drawn.set(svg, [...svg.querySelectorAll("rect, circle, ellipse, polygon, path")].filter((one) => {
      const { fill, display } = style(one);
      return fill !== "none" && display !== "none" && !one.closest("defs, clipPath, marker, pattern");
    }).map((one) => ({ one, box: one.getBoundingClientRect() })));
  }
  return drawn.get(svg);
};
const painted = (text, svg, x, y) => {
  let below = ground(svg);
  for (const { one, box } of shapes(svg)) {
    if (x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
    if (!(one.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) continue;
    const inside = new DOMPoint(x, y).matrixTransform(one.getScreenCTM().inverse());
    if (!one.isPointInFill(inside)) continue;
    const [r, g, b, alpha] = colour(style(one).fill);
    below = over([r, g, b], alpha * Number(style(one).fillOpacity) * opacity(one, svg), below);
  }
  return below;
};

const faint = () => {
  for (const { node, element, seen: boxes } of texts) {
    if (!boxes.length || element.closest(":disabled, [aria-disabled=true]")) continue;
    const svg = element.closest("svg");
    const look = style(element);
    const [r, g, b, alpha] = colour(svg ? look.fill : look.color);
    const [box] = boxes;
    const halo = svg && look.paintOrder.startsWith("stroke") && parseFloat(look.strokeWidth) >= 3;
    let below = ground(element);
    if (halo) below = colour(look.stroke).slice(0, 3);
    else if (svg) below = painted(element, svg, (box.left + box.right) / 2, (box.top + box.bottom) / 2);
    const strength = alpha * opacity(element) * (svg ? Number(look.fillOpacity) : 1);
    const ratio = contrast(over([r, g, b], strength, below), below);
    if (ratio < 4.5) complain("faint", element, `${quote(node.data)} has a contrast of ${ratio.toFixed(2)}`);
  }
};

// ---- Controls: WCAG 2.2, 2.5.8 ------------------------------------------------------------------

const controls = () => {
  const kinds = "button, input:not([type=hidden]), select, textarea, summary, [role=button], [role=tab]";
  for (const one of document.querySelectorAll(kinds)) {
    if (hidden(one)) continue;
    const boxes = [one, ...(one.labels ?? [])].map((part) => part.getBoundingClientRect());
    const size = Math.max(...boxes.map((box) => Math.min(box.width, box.height)));
    if (boxes[0].right <= 0 || boxes[0].left >= width || size === 0) continue;
    if (size < 23.5) complain("small", one, `${quote(one.textContent || one.id || one.type)} is ${size.toFixed(1)} px`);
  }
};

const riddles = () => {
  for (const { node, element, seen: boxes } of texts) {
    if (boxes.length && !element.closest("pre, code") && /\bNaN\b|\bundefined\b|\[object|\bInfinity\b/.test(node.data)) {
      complain("riddle", element, quote(node.data));
    }
  }
};

const ways = { overflow, cut: cutText, overlap: overlaps, faint, small: controls, riddle: riddles };
cutText();
const asked = Object.keys(ways).filter((kind) => kinds.includes(kind));
if (!asked.includes("cut")) complaints.clear();
asked.filter((kind) => kind !== "cut").forEach((kind) => ways[kind]());
return [...complaints].map(([key, { text, times }]) => `${key}: ${text}${times > 1 ? ` (and ${times - 1} more)` : ""}`);
