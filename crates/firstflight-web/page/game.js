// Beat the oracle: a hand sets the window for ten seconds on a path that nobody names. The engine scores what was recorded.

const GAME_MS = 10000;
const GAME_POINTS = 400;
// A step of the slider, which is one arrow key, is a tenth of a doubling.
const WINDOWS = { least: 2, most: 8192, steps: 120 };
const SPOKEN_MS = 2000;

const game = { round: null, windows: [], packets: 10, began: 0, speed: 1, playing: false, spoken: 0, seen: null, frame: null };

const packetsOf = (position) => Math.round(WINDOWS.least * (WINDOWS.most / WINDOWS.least) ** (position / WINDOWS.steps));
const positionOf = (packets) => (WINDOWS.steps * Math.log(packets / WINDOWS.least)) / Math.log(WINDOWS.most / WINDOWS.least);

function setPackets(packets) {
  game.packets = Math.min(WINDOWS.most, Math.max(WINDOWS.least, Math.round(packets)));
  const text = plural(game.packets, "packet");
  byId("game-packets").textContent = text;
  const slider = byId("game-window");
  slider.setAttribute("aria-valuetext", text);
  slider.value = positionOf(game.packets);
}

const gameTime = () => Math.min(GAME_MS, Math.floor((performance.now() - game.began) * game.speed));

// What the hand does at this time of the game, if it does anything.
function noteWindow(t) {
  const last = game.windows.at(-1);
  if (last && last[1] === game.packets) return;
  if (last && last[0] === t) last[1] = game.packets;
  else game.windows.push([t, game.packets]);
}

function ofRound(round) {
  game.round = round;
  game.seen = null;
  game.windows = [];
  byId("game-over").hidden = true;
  byId("game-state").textContent = "";
  drawGame();
}

const askGame = (until_ms) => background.ask({ do: "play", round: game.round, windows: game.windows, until_ms, points: GAME_POINTS });

async function startGame() {
  background ??= new Asker();
  // A heat map that is being computed would stand in the way.
  gridRun++;
  ofRound(game.round);
  game.playing = true;
  byId("game-plot").classList.add("playing");
  byId("game-start").textContent = "Stop";
  byId("game-window").focus({ preventScroll: true });
  byId("game-plot").scrollIntoView({ block: "nearest" });
  game.speed = Number(byId("game-speed").value);
  game.spoken = 0;
  game.began = performance.now();
  noteWindow(0);
  while (game.playing) {
    const t = gameTime();
    noteWindow(Math.min(t, GAME_MS - 1));
    const answer = await askGame(t);
    if (!game.playing) return;
    if (!answer.ok) return stopGame(`${answer.text}.`);
    game.seen = JSON.parse(answer.text);
    drawGame();
    speakGame();
    if (game.seen.over) return endGame();
    await new Promise(requestAnimationFrame);
  }
}

function stopGame(text) {
  game.playing = false;
  byId("game-plot").classList.remove("playing");
  byId("game-start").textContent = "Start";
  byId("game-state").textContent = text;
}

// Not every frame: a voice needs time.
function speakGame() {
  const { t_ms, rtt_ms, min_rtt_ms, arriving_mbps, lost_bytes } = game.seen;
  byId("game-facts").replaceChildren();
  facts(byId("game-facts"), [
    ["Time", `${number(t_ms / 1000, 1)}${NARROW}s`],
    ["Round trip", time(rtt_ms, 3)],
    ["Shortest so far", time(min_rtt_ms, 3)],
    ["Arriving", rate(arriving_mbps ?? 0)],
    ["Lost", bytes(lost_bytes)],
  ]);
  if (t_ms < game.spoken + SPOKEN_MS) return;
  game.spoken = t_ms;
  byId("game-state").textContent = `${number(t_ms / 1000, 0)} s: round trip ${time(rtt_ms, 3)}, shortest ${time(min_rtt_ms, 3)}, ${rate(arriving_mbps ?? 0)} arriving, ${bytes(lost_bytes)} lost.`;
}

function endGame() {
  const { over, packet_bytes } = game.seen;
  const you = over.scores[0];
  const list = over.scores.toSorted((a, b) => b.points - a.points);
  const place = list.findIndex((score) => score.points === you.points) + 1;
  const oracle = over.scores.find((score) => score.arm === "oracle").points;
  const against = you.points > oracle ? "the oracle is beaten: it has" : you.points === oracle ? "the oracle has as many:" : "the oracle has";
  stopGame("Over.");
  byId("game-finding").textContent = `${plural(you.points, "point")}, place ${place} of ${list.length}; ${against} ${oracle}.`;
  byId("game-path").textContent = `The path was ${over.path}: ${plural(Math.round(over.bdp_bytes / packet_bytes), "packet")} fill it (the BDP), and more than ${number(over.full_bdp_bytes / packet_bytes, 0)} overflow its queue.`;
  const head = ["Sender", "points", "delivered", "dropped by the queue", "queueing delay p99"];
  const rows = list.map((score) => html("tr", { "data-score": score.arm, class: score === you ? "you" : null }, html("th", { scope: "row" }, score.arm),
    ...[number(score.points, 0), bytes(score.delivered_bytes), bytes(score.dropped_bytes), time(score.queue_p99_ms, 3)].map((text) => html("td", {}, text))));
  byId("game-scores").replaceChildren(html("table", { class: "replay" },
    html("thead", {}, html("tr", {}, ...head.map((name) => html("th", { scope: "col" }, name)))), html("tbody", {}, ...rows)));
  byId("game-over").hidden = false;
  byId("game-over").dataset.played = JSON.stringify({ round: game.round, windows: game.windows });
}

// --- The chart -------------------------------------------------------------------------------------------------

const GAME_TALL = 310;

function gameFrame() {
  const width = Math.max(280, byId("game-plot").clientWidth);
  const frame = { left: 52, right: width - 12, top: 12, bottom: 200, low: 224, end: GAME_TALL - 26, width };
  frame.x = scale(0, GAME_MS, frame.left, frame.right);
  const [least, most] = [Math.log2(WINDOWS.least), Math.log2(WINDOWS.most)];
  const row = scale(least, most, frame.bottom, frame.top);
  frame.y = (packets) => row(Math.log2(Math.min(WINDOWS.most, Math.max(WINDOWS.least, packets))));
  frame.y.back = (pixel) => 2 ** Math.min(most, Math.max(least, row.back(pixel)));
  return frame;
}

function gameGrid(g, frame) {
  for (let packets = WINDOWS.least; packets <= WINDOWS.most; packets *= 4) {
    const y = round(frame.y(packets));
    g.append(svg("path", { d: `M${frame.left} ${y}H${frame.right}`, class: "grid" }), svg("text", { x: frame.left - 7, y: y + 4, class: "tick", "text-anchor": "end" }, number(packets, 0)));
  }
  for (let second = 0; second <= 10; second += 2) {
    const x = round(frame.x(second * 1000));
    g.append(svg("path", { d: `M${x} ${frame.top}V${frame.bottom}M${x} ${frame.low}V${frame.end}`, class: "grid" }),
      svg("text", { x, y: GAME_TALL - 8, class: "tick", "text-anchor": second === 10 ? "end" : "middle" }, second === 10 ? `10${NARROW}s` : String(second)));
  }
  g.append(svg("path", { d: `M${frame.left} ${frame.end}H${frame.right}`, class: "axis" }),
    svg("text", { x: frame.left + 6, y: frame.top + 10, class: "tick" }, "window, packets"),
    svg("text", { x: frame.left + 6, y: frame.low + 8, class: "tick" }, "round trip"));
}

function stepsPath(times, values, frame, y, until) {
  const d = times.map((t, i) => (values[i] === null ? "" : `${i ? `H${round(frame.x(t))}V` : `M${round(frame.x(t))} `}${round(y(values[i]))}`)).join("");
  return times.length ? `${d}H${round(frame.x(until))}` : "";
}

function gameLines(g, frame) {
  const { series, t_ms, packet_bytes, over } = game.seen;
  if (over) {
    const y = (value) => frame.y(value / packet_bytes);
    // One name above its line and one below: the queue may be small.
    for (const [value, name, down] of [[over.bdp_bytes, "BDP", 13], [over.full_bdp_bytes, "BDP + queue", -4]]) {
      g.append(svg("path", { d: `M${frame.left} ${round(y(value))}H${frame.right}`, class: "reference" }),
        svg("text", { x: frame.right - 4, y: round(y(value)) + down, class: "reference-name", "text-anchor": "end" }, name));
    }
    g.append(svg("path", { d: stepsPath(over.oracle.t_ms, over.oracle.cwnd, frame, y, GAME_MS), class: "line oracle" }));
  }
  g.append(svg("path", { d: stepsPath(series.t_ms, series.inflight.map((value) => value / packet_bytes), frame, frame.y, t_ms), class: "line inflight hand" }),
    svg("path", { d: stepsPath(game.windows.map(([t]) => t), game.windows.map(([, packets]) => packets), frame, frame.y, t_ms), class: "line hand" }));
  const known = series.rtt_ms.map((value, i) => [series.t_ms[i], value]).filter(([, value]) => value !== null);
  const high = Math.max(1, ...known.map(([, value]) => value)) * 1.1;
  const y = scale(0, high, frame.end, frame.low);
  g.append(svg("path", { d: stepsPath(known.map(([t]) => t), known.map(([, value]) => value), frame, y, t_ms), class: "line thin hand" }),
    svg("text", { x: frame.left - 7, y: frame.low + 8, class: "tick", "text-anchor": "end" }, time(high, 2)));
  const lost = series.t_ms.filter((_, i) => series.lost_bytes[i]).map(frame.x);
  for (const [from, to] of stretches(lost, 1.5)) g.append(svg("rect", { x: round(from - 1), y: frame.bottom + 6, width: round(to - from + 2), height: 8, class: "lost" }));
  g.append(svg("path", { d: `M${round(frame.x(t_ms))} ${frame.top}V${frame.end}`, class: "crosshair" }));
}

function drawGame() {
  const frame = gameFrame();
  game.frame = frame;
  const picture = byId("game-picture");
  picture.setAttribute("viewBox", `0 0 ${frame.width} ${GAME_TALL}`);
  const g = svg("g");
  gameGrid(g, frame);
  if (game.seen) gameLines(g, frame);
  picture.replaceChildren(g);
}

// --- The hand --------------------------------------------------------------------------------------------------

function pointAt(event) {
  const box = byId("game-picture").getBoundingClientRect();
  setPackets(game.frame.y.back(((event.clientY - box.top) / box.height) * GAME_TALL));
}

function anotherRound() {
  gameRound = crypto.getRandomValues(new Uint32Array(1))[0] % 1e6;
  if (game.playing) stopGame("");
  ofRound(gameRound);
  changed();
}

function buildGame() {
  ofRound(gameRound ?? crypto.getRandomValues(new Uint32Array(1))[0] % 1e6);
  setPackets(game.packets);
  byId("game-window").addEventListener("input", ({ target }) => setPackets(packetsOf(target.valueAsNumber)));
  byId("game-start").addEventListener("click", () => (game.playing ? stopGame("Stopped.") : startGame()));
  byId("game-next").addEventListener("click", anotherRound);
  byId("game-save").addEventListener("click", () => downloadText("game.json", "application/json", byId("game-over").dataset.played));
  const plot = byId("game-plot");
  plot.addEventListener("pointerdown", (event) => game.playing && pointAt(event));
  plot.addEventListener("pointermove", (event) => game.playing && pointAt(event));
  addEventListener("resize", drawGame);
}
