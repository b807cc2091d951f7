// The page of one cell with one seed: its numbers, and its flows over time.

const { place } = report;
byId("finding").textContent = place.about;
byId("lead").textContent = place.path;
byId("command").textContent = report.command;
const figures = place.figures.map((one) => html("tr", {},
  html("th", { scope: "row" }, one.metric), html("td", { class: "word" }, one.of), html("td", { class: "word" }, one.window),
  ...[one.value, one.baseline].map((value) => html("td", {}, plain(value))), html("td", { class: "word" }, one.unit)));
byId("number-table").append(rowsTable([["Metric"], ["of"], ["window"], ...place.runs.map(({ seat }) => [seat]), ["unit"]], figures));
drawPlace(byId("courses"), { place, command: report.command });
finish();
