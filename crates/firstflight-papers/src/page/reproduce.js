// The page of reproductions: its tables stand in the page, its charts are drawn here.

byId("finding").textContent = report.finding;
byId("lead").textContent = report.lead;
byId("command").textContent = report.command;
for (const { name, figures } of report.chapters) {
  for (const spec of figures) chart(byId(`figures-${name}`), spec);
}
finish();
