// The guided tour: what each of five documents is about, each a preset with two sentences (TOUR, tour.json).

function buildTour() {
  const text = html("p", { "aria-live": "polite" });
  const buttons = TOUR.map(({ title, says, plan, arm }) => {
    const button = html("button", { type: "button", "aria-pressed": "false" }, title);
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      text.textContent = says;
      for (const key of Object.keys(asked)) delete asked[key];
      Object.assign(asked, plan);
      chosen = arm;
      changed();
    });
    return button;
  });
  byId("tour").append(html("span", { class: "muted" }, "Five things to see:"), ...buttons, html("a", { href: "#beat", class: "to-game" }, "Beat the oracle"), text);
}
