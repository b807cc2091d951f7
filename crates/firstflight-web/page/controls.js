// The controls: each edits what is asked for as text and shows what came of it.

const RETURNS = [["plain", "plain"], ["wifi", "Wi-Fi"], ["lte", "LTE"], ["geo_warm", "satellite grid, warm"], ["geo_cold", "satellite grid, cold"], ["leo", "low orbit, hand-over every 15 s"]];
const RECEIVERS = [["", "unlimited"], ["64kB", "64 kB"], ["256kB", "256 kB"], ["auto", "tuned, up to 6 MB"], ["auto:33.554432MB", "tuned, up to 33 MB"]];
const PACKETS = [["", "1500 bytes"], ["1.28kB", "1280 bytes"], ["9kB", "9000 bytes"]];
const LOSS_ENDS = [["", "never"], ["500ms", "after 0.5 s"], ["2s", "after 2 s"]];
const HELLOS = [["", "none"], ["2kB", "certificate of 2 kB"], ["4kB", "certificate of 4 kB"], ["8kB", "certificate of 8 kB"]];
// Shares of the rate.
const ADVICE = [["", "none"], ["0.5", "half the rate"], ["1", "the rate"], ["2", "twice the rate"]];
const ADVICE_USES = [["", "ignored"], ["exit", "ends startup"], ["cap", "ends startup, caps the rate"]];
const AQMS = [["", "none (drop-tail)"], ["codel", "CoDel"], ["codel,ecn", "CoDel that marks"], ["pie", "PIE"], ["pie,ecn", "PIE that marks"],
  ["red", "RED"], ["red,ecn", "RED that marks"], ["fq_codel", "FQ-CoDel"], ["fq_codel,ecn", "FQ-CoDel that marks"], ["dualpi2", "DualPI2"], ["dualpi2,ecn", "DualPI2 that marks"],
  ["ecn=ce:100%", "marks every packet"], ["ecn=bleach", "clears ECN fields"], ["ecn=drop", "loses ECN packets"]];
const AQM_KEYS = ["codel", "pie", "red", "ared", "fq_codel", "dualpi2", "ecn"];
const TRANSPORTS = [["quic", "QUIC, paced"], ["tcp", "TCP, RACK"], ["tcp:linux26", "TCP, Linux 2.6"], ["tcp:sack6675", "TCP, RFC 6675"], ["tcp:reno", "TCP, without SACK"], ["tcp:windows", "TCP, Windows"]];
const choices = (list) => list.map(([value, text]) => html("option", { value }, text));

function set(key, value) {
  if (value === "" || value === null) delete asked[key];
  else asked[key] = value;
  changed();
}

function buildControls() {
  byId("path-sliders").append(...PATH_SLIDERS.map((slider) => sliderRow(slider, ({ key }, text) => set("path", withSlider(asked.path, report.path, key, text)))));
  byId("transfer-sliders").append(...TRANSFER_SLIDERS.map((slider) => sliderRow(slider, ({ key }, text) => set(key, text))));
  const families = Object.groupBy?.(known.paths, ({ name }) => name.split("/")[1] ? name.split("/")[0] : "published talks")
    ?? { paths: known.paths };
  byId("preset").append(html("option", { value: "" }, "your own"),
    ...Object.entries(families).map(([label, list]) => html("optgroup", { label }, ...list.map(({ name }) => html("option", { value: name }, name)))));
  byId("return").append(...choices(RETURNS), html("option", { value: "other", disabled: true }, "as written"));
  byId("rwnd").append(...choices(RECEIVERS), html("option", { value: "other", disabled: true }, "as written"));
  byId("mtu").append(...choices(PACKETS), html("option", { value: "other", disabled: true }, "as written"));
  byId("loss-until").append(...choices(LOSS_ENDS), html("option", { value: "other", disabled: true }, "as written"));
  byId("scone").append(...choices(ADVICE), html("option", { value: "other", disabled: true }, "as written"));
  byId("hello").append(...choices(HELLOS), html("option", { value: "other", disabled: true }, "as written"));
  byId("advice").append(...choices(ADVICE_USES));
  byId("receivets").append(...choices([["", "off"], ["on", "on"]]));
  byId("aqm").append(...choices(AQMS));
  byId("transport").append(...choices(TRANSPORTS));
  byId("cross").append(...choices([["", "none"], ...known.startups.filter(({ name }) => name !== "oracle").map(({ name }) => [name, `${name}, endless`])]));
  byId("add-arm").append(html("option", { value: "" }, "choose an arm …"), ...known.startups.map(({ name, summary }) => html("option", { value: name }, `${name}: ${summary}`)),
    ...known.short_names.map(([name, , summary]) => html("option", { value: name }, `${name}: ${summary}`)));
  byId("avoidance").append(...choices([["", "CUBIC (default)"], ...known.avoidances.map(({ name }) => [name, name])]));
  byId("recovery").append(...choices([["", "PRR (default)"], ...known.recoveries.map(({ name }) => [name, name])]));
  listen();
}

function listen() {
  const on = (id, act, event = "change") => byId(id).addEventListener(event, () => act(byId(id).value.trim()));
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  on("preset", (name) => name && set("path", name));
  on("path", (text) => set("path", text || known.path));
  on("return", (value) => set("path", withKey(asked.path, "return", value === "plain" ? null : value)));
  on("rwnd", (value) => {
    const bare = value ? asked.path : withKey(asked.path, "read", null);
    set("path", withKey(bare, "rwnd", value || null));
  });
  on("mtu", (value) => set("path", withKey(asked.path, "mtu", value || null)));
  on("loss-until", (value) => set("path", withKey(asked.path, "loss_until", value || null)));
  on("hello", (value) => set("path", withKey(asked.path, "hello", value || null)));
  on("scone", (share) => set("path", withKey(asked.path, "scone", share ? adviceAt(share) : null)));
  on("aqm", (value) => {
    const bare = AQM_KEYS.reduce((text, key) => withKey(text, key, null), asked.path);
    set("path", value.split(",").filter(Boolean).reduce((text, part) => withKey(text, keyOf(part), part.split("=")[1] ?? ""), bare));
  });
  on("transport", (value) => {
    const [transport, detection] = value.split(":");
    if (detection) asked.detection = detection;
    else delete asked.detection;
    set("transport", transport === "quic" ? "" : transport);
  });
  on("cross", (value) => set("cross", value));
  on("seed", (value) => set("seed", value === "1" ? "" : value));
  on("add-arm", (name) => {
    if (!name) return;
    byId("add-arm").value = "";
    chosen = armTexts().length;
    set("arms", [...armTexts(), name].join(","));
  });
  on("arm-text", (text) => text && setArm(text));
  for (const key of ["advice", "receivets"]) {
    on(key, (value) => {
      const parts = partsOfChosen();
      setArm(armText({ ...parts, sender: withSender(parts.sender, key, value) }));
    });
  }
  for (const part of ["avoidance", "recovery"]) on(part, (value) => setArm(armText({ ...partsOfChosen(), [part]: value })));
}

// Advice at a share of the path's rate.
const adviceAt = (share) => `${tidy(report.path.rate_mbps * share, 4)}Mbit`;

// A short name stands for an arm that has options.
function partsOfChosen() {
  const text = armTexts()[chosen] ?? "";
  const short = known.short_names.find(([name]) => name === text);
  return armParts(short ? short[1] : text);
}

function setArm(text) {
  const list = armTexts();
  list[chosen] = text;
  set("arms", list.join(","));
}

// Shows what the engine made of it: sliders stand where the path is, whatever it was called.
function syncControls() {
  const { path } = report;
  for (const slider of PATH_SLIDERS) showSlider(slider, slider.read(path) ?? NaN);
  for (const slider of TRANSFER_SLIDERS) showSlider(slider, report.workload_bytes);
  byId("preset").value = known.paths.some(({ name }) => name === asked.path) ? asked.path : "";
  const built = known.paths.find(({ name }) => name === asked.path);
  byId("source").textContent = built ? `${built.about} (${built.source})` : "";
  keep("path", asked.path);
  keep("seed", asked.seed ?? "1");
  const release = pathValue(path.text, "return") ?? "plain";
  byId("return").value = RETURNS.some(([value]) => value === release) ? release : "other";
  const rwnd = pathValue(path.text, "rwnd") ?? "";
  byId("rwnd").value = RECEIVERS.some(([value]) => value === rwnd) ? rwnd : "other";
  const mtu = pathValue(path.text, "mtu") ?? "";
  byId("mtu").value = PACKETS.some(([value]) => value === mtu) ? mtu : "other";
  const ends = pathValue(path.text, "loss_until") ?? "";
  byId("loss-until").value = LOSS_ENDS.some(([value]) => value === ends) ? ends : "other";
  const hello = pathValue(path.text, "hello") ?? "";
  byId("hello").value = HELLOS.some(([value]) => value === hello) ? hello : "other";
  const advised = pathValue(path.text, "scone");
  const near = ([share]) => share && Math.abs(asMbit(advised) / (path.rate_mbps * share) - 1) < 1e-3;
  byId("scone").value = advised ? ADVICE.find(near)?.[0] ?? "other" : "";
  const keys = path.text.split(",").map(keyOf);
  const ecn = pathValue(path.text, "ecn");
  byId("aqm").value = AQM_KEYS.filter((key) => keys.includes(key)).map((key) => key === "ecn" && ecn ? `ecn=${ecn}` : key).join(",");
  byId("transport").value = (asked.transport ?? "quic") + (asked.detection ? `:${asked.detection}` : "");
  byId("cross").value = asked.cross ?? "";
  syncArms();
}

// What is being typed stays.
function keep(id, text) {
  if (document.activeElement !== byId(id)) byId(id).value = text;
}

let armsShown = "";

function syncArms() {
  const list = armTexts();
  const now = JSON.stringify([list, chosen, report.series.map((series) => series.look)]);
  if (now === armsShown) return;
  armsShown = now;
  byId("arm-list").replaceChildren(...list.map((text, index) => {
    const choose = html("button", { type: "button", "aria-pressed": String(index === chosen), class: "choose" }, arms[index] ? swatch(arms[index]) : null, text);
    choose.addEventListener("click", () => {
      chosen = index;
      changed();
    });
    const remove = html("button", { type: "button", class: "remove", "aria-label": `Remove ${text}`, disabled: list.length === 1 }, "×");
    remove.addEventListener("click", () => {
      chosen = Math.max(0, chosen >= index ? chosen - 1 : chosen);
      set("arms", list.filter((_, other) => other !== index).join(","));
    });
    return html("li", {}, choose, remove);
  }));
  const parts = partsOfChosen();
  byId("options-of").textContent = list[chosen] ?? "";
  keep("arm-text", list[chosen] ?? "");
  byId("avoidance").value = parts.avoidance.split("(")[0];
  byId("recovery").value = parts.recovery.split("(")[0];
  for (const key of ["advice", "receivets"]) byId(key).value = senderOptions(parts.sender).get(key) ?? "";
  const docs = known.startups.find(({ name }) => name === parts.name)?.options ?? [];
  byId("option-list").replaceChildren(...docs.map((doc) => optionRow(doc, parts)));
}

function optionRow({ key, values, meaning }, parts) {
  const input = html("input", { placeholder: values, spellcheck: "false", "aria-description": meaning });
  input.value = parts.options.get(key) ?? "";
  input.addEventListener("change", () => {
    const options = new Map(parts.options);
    if (input.value.trim()) options.set(key, input.value.trim());
    else options.delete(key);
    setArm(armText({ ...parts, options }));
  });
  return html("label", { class: "field", "data-tip": meaning }, key, input);
}
