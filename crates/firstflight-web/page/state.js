// What is asked for: kept in the address, so that a link shows the same.

const LONGEST_ADDRESS = 6000;

// Options of `compare` by name, as they would be typed; what is not there has its default.
const asked = { path: "rapid-slide", bytes: "3MB", arms: "slowstart,hystart++,rapid,plumb" };
let chosen = 1;
// The path of the game, once somebody has asked for one.
let gameRound = null;

// At commas outside of parentheses, or at another sign.
function splitOutside(text, sign) {
  const parts = [""];
  let depth = 0;
  for (const c of text) {
    if (c === "(") depth++;
    if (c === ")") depth--;
    if (c === sign && depth === 0) parts.push("");
    else parts[parts.length - 1] += c;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

const armTexts = () => splitOutside(asked.arms, ",");

// An arm by its parts: startup, avoidance, recovery, sender options.
function armParts(text) {
  const [arm, sender = ""] = text.split("@");
  const [startup = "", avoidance = "", recovery = ""] = splitOutside(arm, "/");
  const [name, rest = ""] = startup.split("(");
  const options = rest.replace(/\)$/, "").split(",").filter(Boolean).map((one) => one.trim().split("="));
  return { name, options: new Map(options.map(([key, value = "on"]) => [key, value])), avoidance, recovery, sender };
}

// The options behind `@`, in parentheses.
function senderOptions(sender) {
  return new Map(splitOutside(sender.replace(/^\(|\)$/g, ""), ",").map((one) => one.split("=")));
}

function withSender(sender, key, value) {
  const options = senderOptions(sender);
  if (value) options.set(key, value);
  else options.delete(key);
  return options.size ? `(${[...options].map(([name, of]) => `${name}=${of}`).join(",")})` : "";
}

function armText({ name, options, avoidance, recovery, sender }) {
  const list = [...options].map(([key, value]) => `${key}=${value}`).join(",");
  // A recovery stands behind an avoidance.
  const tail = recovery ? `/${avoidance || "cubic"}/${recovery}` : avoidance ? `/${avoidance}` : "";
  return name + (list ? `(${list})` : "") + tail + (sender ? `@${sender}` : "");
}

function address() {
  const query = new URLSearchParams(asked);
  query.set("arm", chosen);
  if (gameRound !== null) query.set("game", gameRound);
  return `#${query.toString().replaceAll("%2C", ",").replaceAll("%2F", "/").replaceAll("%3D", "=").replaceAll("%28", "(").replaceAll("%29", ")")}`;
}

// What the address asks for; a sentence if it makes no sense. The engine judges names and values.
function readAddress() {
  const text = location.hash.slice(1);
  // Links within the page: to a heading, not to a state.
  if (text === "" || byId(text)) return null;
  if (text.length > LONGEST_ADDRESS) return `The address is longer than ${LONGEST_ADDRESS} characters and was ignored.`;
  const query = new URLSearchParams(text.replaceAll("+", "%2B"));
  const arm = query.get("arm");
  query.delete("arm");
  if (/^\d{1,15}$/.test(query.get("game") ?? "")) gameRound = Number(query.get("game"));
  query.delete("game");
  const options = Object.fromEntries(query);
  for (const key of Object.keys(asked)) if (!["path", "bytes", "arms"].includes(key)) delete asked[key];
  Object.assign(asked, options);
  chosen = Math.max(0, Number.parseInt(arm ?? "0", 10) || 0);
  return null;
}
