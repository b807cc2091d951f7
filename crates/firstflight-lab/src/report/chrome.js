// What every page has: lists of facts, light and dark, copying the command, tooltips. It knows `report.command` and nothing else of the data.

const root = document.documentElement.dataset;

const plural = (count, one) => `${number(count, 0)} ${one}${count === 1 ? "" : "s"}`;

function facts(list, entries) {
  for (const [name, value, extra] of entries) {
    if (value === null || value === undefined || value === "") continue;
    list.append(html("div", { class: extra }, html("dt", {}, name), html("dd", {}, value)));
  }
}

function theme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const button = byId("theme");
  const now = () => root.theme ?? (dark.matches ? "dark" : "light");
  const name = () => {
    button.textContent = now() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${now() === "dark" ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    root.theme = now() === "dark" ? "light" : "dark";
    name();
  });
  dark.addEventListener("change", name);
  name();
}

function copy() {
  const button = byId("copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(report.command);
      button.textContent = "Copied";
    } catch {
      // Without permission the command is at least selected, one keystroke from copied.
      getSelection().selectAllChildren(byId("command"));
      button.textContent = "Selected";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}

// One tooltip for whatever carries `data-tip`, placed over the page so that scrolling boxes do not cut it.
function tips() {
  const tip = byId("tip");
  const show = (event) => {
    const owner = event.target.closest?.("[data-tip]");
    tip.hidden = !owner?.dataset.tip;
    if (tip.hidden) return;
    tip.textContent = owner.dataset.tip;
    owner.setAttribute("aria-describedby", "tip");
    const box = owner.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${box.bottom + 6}px`;
  };
  const hide = () => (tip.hidden = true);
  for (const name of ["mouseover", "focusin"]) document.addEventListener(name, show);
  for (const name of ["focusout", "scroll"]) document.addEventListener(name, hide, { passive: true });
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

// --- Saving ----------------------------------------------------------------------------------------------------

// What a chart's looks hang on, besides its attributes.
const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "visibility"];

function download(name, href) {
  const link = html("a", { download: name, href });
  document.body.append(link);
  link.click();
  link.remove();
}

function downloadText(name, type, text) {
  const href = URL.createObjectURL(new Blob([text], { type }));
  download(name, href);
  setTimeout(() => URL.revokeObjectURL(href), 10000);
}

// A picture as a file of its own: with the colours that the page gives it, on the card's background.
function standalone(picture) {
  const copied = picture.cloneNode(true);
  const [from, to] = [picture, copied].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of DRAWN) to[i].setAttribute(name, style.getPropertyValue(name));
    to[i].removeAttribute("class");
    to[i].removeAttribute("style");
  });
  copied.setAttribute("xmlns", SVG);
  copied.prepend(svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(picture.closest(".plot")).backgroundColor }));
  return new XMLSerializer().serializeToString(copied);
}

function savePng(name, picture) {
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = html("canvas", {});
    const times = Math.max(2, devicePixelRatio);
    canvas.width = picture.clientWidth * times;
    canvas.height = picture.clientHeight * times;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    download(name, canvas.toDataURL("image/png"));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(picture))}`;
}

// Buttons at a chart.
function saveable(figure) {
  const picture = figure.querySelector(".plot svg");
  const title = figure.querySelector("h3, h4");
  if (!picture || !title) return;
  // Titles may change, so they are read when they are needed.
  const name = () => `firstflight-${title.textContent.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "")}`;
  title.id ||= `title-${document.querySelectorAll(".saves").length}`;
  const button = (kind, act) => {
    const id = `${title.id}-as-${kind.toLowerCase()}`;
    const made = html("button", { type: "button", class: "save", id, title: `Save as ${kind}`, "aria-label": `Save as ${kind}:`, "aria-labelledby": `${id} ${title.id}` }, kind);
    made.addEventListener("click", act);
    return made;
  };
  figure.querySelector("figcaption").append(html("span", { class: "saves no-print" },
    button("SVG", () => downloadText(`${name()}.svg`, "image/svg+xml", standalone(picture))),
    button("PNG", () => savePng(`${name()}.png`, picture))));
}

// The same at every chart, and one for the data of the page, which is what it was drawn from.
function saves(saveData = () => downloadText("firstflight.json", "application/json", byId("data").textContent)) {
  document.querySelectorAll("main figure").forEach(saveable);
  const data = html("button", { type: "button", class: "quiet no-print", id: "save-data" }, "Save data (JSON)");
  data.addEventListener("click", () => saveData());
  byId("command").parentElement.after(data);
}
