// A file of one's own: the replay of `firstflight replay`, in the second engine, beside the page.

// What a page can hold at once; the command line reads files of any size.
const LARGEST_FILE = 256e6;
const MOST_FINDINGS = 12;

let replayed = null;

async function ofFile(file) {
  background ??= new Asker();
  return background.ask({ do: "replay", name: file.name }, await file.arrayBuffer());
}

function sayOfFile(text, wrong) {
  byId("replay-state").textContent = text;
  byId("replay-state").className = wrong ? "note warning" : "how";
}

async function replayFile(file) {
  replayed = null;
  byId("replayed").hidden = true;
  byId("yours").scrollIntoView({ block: "start" });
  if (file.size > LARGEST_FILE) {
    return sayOfFile(`${file.name} has ${bytes(file.size)}, and a page takes ${bytes(LARGEST_FILE)}: \u201cfirstflight replay\u201d reads files of any size.`, true);
  }
  sayOfFile(`Reading ${file.name} …`);
  // A heat map that is being computed would stand in the way.
  gridRun++;
  let answer;
  try {
    answer = await ofFile(file);
  } catch {
    return sayOfFile(`${file.name} cannot be read.`, true);
  }
  if (!answer.ok) return sayOfFile(answer.text, true);
  replayed = { file, results: JSON.parse(answer.text), text: answer.text };
  showReplayed();
}

function showReplayed() {
  const { connections, verdicts, files } = replayed.results;
  const fault = files.find((file) => file.fault)?.fault;
  sayOfFile(fault ? `Partial: ${fault}` : `${plural(connections.length, "connection")} with enough ACKs to tell.`, Boolean(fault));
  const head = ["Startup", "connections", "early", "right", "late", "did not leave", "cwnd at exit, median (BDP)"];
  const rows = verdicts.map((row) => html("tr", {}, html("th", { scope: "row" }, row.arm),
    ...[row.connections, row.early, row.right, row.late, row.silent].map((count) => html("td", {}, number(count, 0))),
    html("td", {}, plain(row.bdp_ratio_p50))));
  byId("replay-box").replaceChildren(html("table", { class: "replay" },
    html("thead", {}, html("tr", {}, ...head.map((name) => html("th", { scope: "col" }, name)))), html("tbody", {}, ...rows)));
  const findings = [...new Set(connections.flatMap((one) => one.findings.map(({ text }) => text)))];
  byId("replay-findings").replaceChildren(...findings.slice(0, MOST_FINDINGS).map((text) => html("li", {}, text)));
  byId("replayed").hidden = false;
}

function buildReplay() {
  byId("capture").addEventListener("change", ({ target }) => target.files[0] && replayFile(target.files[0]));
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) replayFile(file);
  });
  byId("replay-json").addEventListener("click", () => downloadText("replay.json", "application/json", replayed.text));
}
