// The page of a comparison: its data stand in it.

use(JSON.parse(byId("data").textContent));
// A kept result has no events to draw.
byId("over-time").parentElement.hidden = !report.series.length;
byId("details").parentElement.hidden = !report.series.length;
layOut();
legend();
words();
theme();
copy();
tips();
saves();
charts.forEach(pointer);
byId("reset").addEventListener("click", showAll);
change();
let drawn = innerWidth;
addEventListener("resize", () => {
  // Phones fire this when their bars slide away; only the width matters here.
  if (innerWidth !== drawn) change();
  drawn = innerWidth;
});
addEventListener("beforeprint", () => {
  read(null);
  render(700);
});
addEventListener("afterprint", () => change());
root.ready = "";
