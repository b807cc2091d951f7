// The page of reproductions: draws its charts; the tables are HTML.

byId("finding").textContent = report.finding;
byId("lead").textContent = report.lead;
byId("command").textContent = report.command;
for (const { name, figures } of report.chapters) {
  for (const spec of figures) chart(byId(`figures-${name}`), spec);
}
finish();
