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
