// Another replay in the page of a replay: what was printed stays, and what is computed here is marked.

const LARGEST_FILE = 256e6;
const COUNTS = { early: "too early", right: "right", late: "too late", silent: "not within the trace" };

let replayer = null;
let runs = 0;

function sayInside(text, wrong = false) {
  byId("inside-problem").hidden = text === "";
  byId("inside-problem").textContent = text;
  byId("inside-problem").classList.toggle("warning", wrong);
}

// The value, and below it the printed one if that is another.
function besidePrinted(text, before) {
  const changed = before !== undefined && before !== text;
  return html("td", { class: changed ? "changed" : null }, html("span", { class: "value" }, text), changed ? html("small", { class: "printed" }, `printed ${before}`) : null);
}

function computedRow(row) {
  const printed = report.verdicts.find(({ arm }) => arm === row.arm);
  const texts = (of) => of && [number(of.connections, 0), ...Object.keys(COUNTS).map((key) => number(of[key], 0)), plain(of.bdp_ratio_p50)];
  const before = texts(printed) ?? [];
  return html("tr", { "data-computed": row.arm }, html("th", { scope: "row" }, row.arm, printed ? null : html("small", { class: "printed" }, "not printed")),
    ...texts(row).map((text, index) => besidePrinted(text, before[index])));
}

async function replayInside() {
  const [file] = byId("inside-file").files;
  if (!file) return;
  if (file.size > LARGEST_FILE) return sayInside(`${file.name} has ${bytes(file.size)}, and a page takes ${bytes(LARGEST_FILE)}: “firstflight replay” reads files of any size.`, true);
  const run = ++runs;
  sayInside(`Reading ${file.name} …`);
  replayer ??= new Asker();
  let answer;
  try {
    answer = await replayer.ask({ do: "replay", name: file.name, arms: byId("inside-arms").value.trim() || report.arms.map(({ arm }) => arm).join(",") }, await file.arrayBuffer());
  } catch {
    answer = { ok: false, text: `${file.name} cannot be read` };
  }
  if (run !== runs) return;
  if (!answer.ok) return sayInside(`${answer.text}.`, true);
  sayInside("");
  const { verdicts, connections, files } = JSON.parse(answer.text);
  const fault = files.find((one) => one.fault)?.fault;
  byId("computed-of").textContent = `${plural(connections.length, "connection")} of ${file.name}; printed: ${plural(report.count, "connection")}.${fault ? ` Read in part: ${fault}.` : ""}`;
  byId("computed-table").replaceChildren(rowsTable([["Algorithm"], ["connections"], ...Object.values(COUNTS).map((name) => [name]), ["cwnd at exit p50", "BDP"]], verdicts.map(computedRow)));
  byId("computed").hidden = false;
}

byId("inside-arms").value = JSON.parse(byId("plan").textContent).arms;
byId("inside-replay").addEventListener("submit", (event) => {
  event.preventDefault();
  replayInside();
});
for (const id of ["inside-arms", "inside-file"]) byId(id).addEventListener("change", replayInside);
