// The guided tour (TOUR, tour.json): plans with a text each. The story whose plan is shown has its button pressed.

const told = (plan) => JSON.stringify(Object.entries(plan).toSorted());
const story = () => TOUR.find(({ plan }) => told(plan) === told(asked));

// The measure that a story is about, for every arm: a column of the table, or the pause of the first recovery.
function cellOf(name, key) {
  const column = report.table.columns.findIndex((one) => one.key === key);
  return report.table.rows.find(({ arm }) => arm === name).values[column];
}
const MEASURES = {
  time: (name) => `${number(cellOf(name, "ttlb_ms") / 1000, 1)} s`,
  loss: (name) => `${number(cellOf(name, "loss_ratio"), 1)} %`,
  silence: (name) => {
    const first = arms.find(({ arm }) => arm === name).episodes[0];
    return first ? `${number(first.silence_ms, 1)} ms` : "none";
  },
};

function storyFinding() {
  const { measure } = story() ?? {};
  if (!measure) return null;
  const values = report.table.rows.map(({ arm }) => `${arm} ${MEASURES[measure.of](arm)}`);
  return `${measure.label}: ${values.join(", ")}.`;
}

function syncTour() {
  const shown = story();
  for (const [index, button] of [...byId("tour").querySelectorAll("button")].entries()) button.setAttribute("aria-pressed", String(TOUR[index] === shown));
  byId("tour").querySelector("p").textContent = shown?.says ?? "";
}

function buildTour() {
  const buttons = TOUR.map(({ title, plan, arm }) => {
    const button = html("button", { type: "button", "aria-pressed": "false" }, title);
    button.addEventListener("click", () => {
      for (const key of Object.keys(asked)) delete asked[key];
      Object.assign(asked, plan);
      chosen = arm;
      changed();
    });
    return button;
  });
  const text = html("div", { class: "story" }, html("p", { "aria-live": "polite" }));
  byId("tour").append(html("span", { class: "muted" }, "Things to see:"), ...buttons, html("a", { href: "#beat", class: "to-game" }, "Beat the oracle"), text);
}
