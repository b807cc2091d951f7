// The page of one cell with one seed: its flows over time; its numbers are HTML.

const { place } = report;
byId("finding").textContent = place.about;
byId("lead").textContent = place.path;
byId("command").textContent = report.command;
drawPlace(byId("courses"), { place, command: report.command });
finish();
