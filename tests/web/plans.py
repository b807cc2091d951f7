"""Random plans for a comparison: all arms, their options, all keys of paths. The same number, the same plan."""

import json
import random
import re
import subprocess

DETECTIONS = ["rack", "linux26", "sack6675", "sack3517", "reno", "windows"]
RETURNS = ["plain", "geo_cold", "geo_warm", "geo_starved", "geo_stress", "geo:20:2", "geo:40:3:outages", "lte", "wifi", "nic",
           "batch:10ms:8", "batch:5ms-20ms:4:100us", "first:2ms:16", "leo", "leo:5ms", "leo:5ms:0.5-1.5:20%"]


def option(rng, doc):
    """A value that `values` allows, as far as a short text can be understood."""
    values = doc["values"]
    numbers = re.search(r"([\d.]+) to ([\d.]+)", values)
    words = re.findall(r"(?<![\w.])[a-z][\w.-]*", values.split(" to ")[0] if numbers else values)
    words = [word for word in words if word not in ("or", "to", "segments", "packets", "a", "number", "of")]
    if numbers and (not words or rng.random() < 0.7):
        low, high = float(numbers[1]), float(numbers[2])
        if low == int(low) and high == int(high):
            return str(rng.randint(int(low), min(int(high), int(low) + 40)))
        return f"{rng.uniform(low, high):.2f}"
    return rng.choice(words or ["on", "off"])


def part(rng, parts):
    chosen = rng.choice(parts)
    docs = rng.sample(chosen["options"], min(len(chosen["options"]), rng.choice([0, 0, 0, 1, 1, 2])))
    options = ",".join(f"{doc['key']}={option(rng, doc)}" for doc in docs)
    return f"{chosen['name']}({options})" if options else chosen["name"]


def arm(rng, facts, tcp):
    if rng.random() < 0.15:
        return rng.choice(facts["short_names"])[0]
    text = part(rng, facts["startups"])
    if rng.random() < 0.5:
        text += "/" + part(rng, facts["avoidances"])
        if rng.random() < 0.6:
            text += "/" + part(rng, facts["recoveries"])
    if rng.random() < 0.3:
        text += rng.choice(["@(iw=30)", "@(pace=on)", "@(pace=off)", "@(iw=4,pace=on)", "@(maxrate=20Mbit)"])
    if tcp and "@" not in text and rng.random() < 0.2:
        text += rng.choice([f"@(detection={rng.choice(DETECTIONS)})", "@(rtomax=2s)"])
    if not tcp and "@" not in text and rng.random() < 0.2:
        text += rng.choice(["@(ecn=rfc9000)", "@(ecn=quic-go)", "@(ecn=off)", "@(receivets=on)", "@(advice=exit)", "@(advice=cap)"])
    return text


def queue(rng):
    return rng.choice([f"{rng.uniform(0.1, 4):.2f}bdp", f"{rng.randint(5, 200)}ms", f"{rng.randint(10, 900)}kB", f"{rng.randint(4, 400)}pkt", "unlimited"])


def path(rng, facts):
    if rng.random() < 0.15:
        base = rng.choice([row["name"] for row in facts["paths"]])
        return base if rng.random() < 0.6 else f"{base},queue={queue(rng)}"
    mbit = 10 ** rng.uniform(0, 2.3)
    poisson = rng.random() < 0.1
    keys = [f"rate={'poisson:' if poisson else ''}{mbit:.3f}Mbit", f"rtt={rng.randint(5, 400)}ms", f"queue={queue(rng)}"]
    wild = [
        lambda: rng.choice([f"loss={rng.uniform(0, 3):.3f}%", "ge=0.1%:5:40%", f"loss_every={rng.randint(20, 900)}"]),
        lambda: f"policer={mbit / 2:.2f}Mbit:{rng.randint(20, 60)}ms" if not poisson else f"lead_in={rng.randint(1, 5)}",
        lambda: rng.choice(["codel", "codel=5ms:100ms,ecn", "pie", "pie=20ms,ecn", "ecn=30ms"]),
        lambda: rng.choice(["jitter=3ms", "jitter=1ms-9ms", "jitter=normal:3ms:1ms"]),
        lambda: rng.choice(["reorder=1%:5ms", "reorder=2%:3ms:0.1%:20ms"]),
        lambda: f"dup={rng.uniform(0, 0.05):.3f}",
        lambda: f"steps=0.2s:{mbit / 3:.2f}Mbit/0.5s:{mbit * 2:.2f}Mbit" if not poisson else "ms_slots",
        lambda: "wander=0.3:1s" if not poisson else "up_loss=0.5%",
        lambda: f"up={rng.uniform(0.2, 20):.2f}Mbit,up_queue={queue(rng)}",
        lambda: f"up_loss={rng.uniform(0, 2):.2f}%",
        lambda: "up_jitter=2ms",
        lambda: f"delay={rng.choice(['even', 'before', 'behind'])}",
        lambda: f"overhead={rng.randint(1, 90)}B",
        lambda: f"return={rng.choice(RETURNS)}",
        lambda: f"thin={rng.randint(1, 30)}",
        lambda: "comp_sack=1ms:44",
        lambda: f"ack={rng.randint(1, 10)}",
        lambda: rng.choice(["rwnd=60kB", "rwnd=auto", "rwnd=auto:1MB,read=5Mbit"]),
        lambda: rng.choice(["mtu=1228B", "mtu=1280B", "mtu=1500B"]),
        lambda: rng.choice(["ecn=ce:100%", "ecn=bleach", "ecn=drop"]),
        lambda: "loss_every=5,loss_until=300ms",
        lambda: f"scone={mbit / 2:.2f}Mbit",
        lambda: f"hello={rng.randint(2, 8)}kB",
    ]
    keys += [key() for key in rng.sample(wild, rng.choice([0, 0, 1, 1, 2, 3]))]
    return ",".join(keys)


def plan(facts, number):
    rng = random.Random(f"plan {number}")
    tcp = rng.random() < 0.4
    made = {
        "path": path(rng, facts),
        "bytes": f"{int(10 ** rng.uniform(3.5, 6.6))}B",
        "arms": ",".join(arm(rng, facts, tcp) for _ in range(rng.randint(1, 4))),
        "seed": rng.randrange(2**32),
        "repeat": rng.choice([1, 1, 1, 2, 3]),
        "limit": "30s",
    }
    if tcp:
        made["transport"] = "tcp"
        if rng.random() < 0.5:
            made["detection"] = rng.choice(DETECTIONS)
    if rng.random() < 0.3:
        made["iw"] = rng.randint(1, 60)
    if rng.random() < 0.15:
        made["flows"] = rng.randint(2, 4)
        made["apart"] = f"{rng.randint(0, 500)}ms"
        if rng.random() < 0.4:
            made["app"] = rng.choice(["web:3:200ms", "video:500kB:200kB:300ms", "blocks:100kB:2s"])
    elif rng.random() < 0.1:
        made["cross"] = "slowstart"
    return made


def command(program, made):
    """The command line of a plan."""
    return [program, "compare", *(f"--{key}={value}" for key, value in made.items()), "--json", "-"]


def native(program, made):
    """What the command answers to a plan."""
    return answer(command(program, made))


def answer(typed):
    """What a command answers: its JSON, or its sentence."""
    done = subprocess.run(typed, capture_output=True, text=True)
    if done.returncode < 2:
        return {"ok": True, "text": done.stdout}
    return {"ok": False, "text": done.stderr.removeprefix("firstflight: ").rstrip("\n")}


def request(made):
    return json.dumps({"do": "compare", "plan": made})
