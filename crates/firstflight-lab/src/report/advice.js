// What the page of an answer has beside the A/B test: the answer in lines, what was read, what was assumed.

const MOST_PATHS = 200;
const { advice: answer, evidence } = report;

function answerLines() {
  facts(byId("answer-lines"), answer.lines.map(({ about, text }) => [about, text, "wide"]));
}

function readFiles() {
  const rows = evidence.files.map(({ file, bytes: read, records, connections, fault }) => html("tr", {},
    html("th", { scope: "row", class: "name" }, file),
    ...[bytes(read), number(records, 0), number(connections, 0)].map((text) => html("td", { class: "figure" }, text)),
    html("td", {}, fault ?? "")));
  byId("read-files").append(grid(["File", "Read", "Records", "Connections", "What is wrong with it"], rows, [0, 4]));
}

function readPaths() {
  const shown = evidence.paths.slice(0, MOST_PATHS);
  const rows = shown.map((path) => html("tr", {},
    html("th", { scope: "row", class: "name" }, path.name),
    html("td", {}, `${path.origin}, ${path.transport}`),
    ...[bytes(path.bytes), plain(path.rtt_ms), `${path.rate_is_lower_bound ? "≥ " : ""}${plain(path.rate_mbps)}`, plain(path.buffer_ms), path.loss_pct === null ? MISSING : number(path.loss_pct, 2)].map((text) => html("td", { class: "figure" }, text))));
  byId("read-paths").append(grid(["Connection", "Written by", "Bytes", "RTT ms", "Rate Mbit/s", "Buffer ms", "Lost %"], rows, [0, 1]));
  const more = evidence.paths.length - shown.length;
  const notes = [more > 0 ? `${number(more, 0)} more are in the JSON.` : "", evidence.left_out ? `${plural(evidence.left_out, "connection")} without a rate or a round trip left out.` : "", evidence.doubts ? `${evidence.doubts}.` : ""];
  byId("read-more").textContent = notes.filter(Boolean).join(" ");
}

function readExits() {
  const shown = evidence.paths.slice(0, MOST_PATHS);
  const names = [...new Set(shown.flatMap((path) => path.exits.map(([arm]) => arm)))];
  const rows = shown.map((path) => html("tr", {}, html("th", { scope: "row", class: "name" }, path.name),
    ...names.map((name) => {
      const exit = path.exits.find(([arm]) => arm === name);
      return html("td", { class: "figure" }, exit ? `${exit[1]}${exit[2] === null ? "" : ` ${plain(exit[2])}`}` : MISSING);
    })));
  byId("read-exits").append(grid(["Connection", ...names], rows, [0]));
  const kinds = new Map();
  for (const path of shown) for (const text of path.findings) kinds.set(text, [...(kinds.get(text) ?? []), path.name]);
  for (const [text, of] of kinds) byId("read-findings").append(html("p", { class: "note" }, html("strong", {}, of.join(", "), ": "), text));
}

answerLines();
readFiles();
readPaths();
readExits();
facts(byId("assumed-list"), evidence.assumed.map(([value, text]) => [value, text, "wide"]));
