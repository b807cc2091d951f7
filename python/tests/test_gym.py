"""Environments for learned senders: Gymnasium's own checks, the vector against single ones, and policies as arms."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

gymnasium = pytest.importorskip("gymnasium", reason="Gymnasium is not installed")
import numpy as np  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

import firstflight as ff  # noqa: E402
from firstflight.gym import FEATURES, Policy, StartupVector  # noqa: E402

KINDS = list(itertools.product(["Startup", "Sender"], ["growth", "window", "rate"], ["ack", "rtt", "10ms"]))


@pytest.mark.parametrize(("name", "action", "step"), KINDS)
def test_an_environment_passes_the_checks_of_gymnasium(name: str, action: str, step: str) -> None:
    env = gymnasium.make(f"firstflight/{name}-v0", population="cdn", action=action, step=step)
    check_env(env.unwrapped, skip_render_check=True)


def until_the_end(env: Any, action: float) -> tuple[list[Any], float, dict[str, Any]]:
    seen, rewards = [], 0.0
    for _ in range(100_000):
        observation, reward, terminated, truncated, info = env.step(np.array([action], np.float32))
        seen.append(observation)
        rewards += reward
        if terminated or truncated:
            return seen, rewards, info
    raise AssertionError("a connection has no end")


def test_the_same_seed_gives_the_same_episode() -> None:
    env = gymnasium.make("firstflight/Startup-v0")
    first, again = (env.reset(seed=5)[1], until_the_end(env, 0.7)), (env.reset(seed=5)[1], until_the_end(env, 0.7))
    assert first[0] == again[0] and first[1][1:] == again[1][1:]
    assert env.reset()[1]["connection"] > first[0]["connection"], "the next connection follows"
    assert env.reset(seed=6)[1] != first[0], "another seed has other connections"


def test_an_agent_that_doubles_is_slow_start() -> None:
    env = gymnasium.make("firstflight/Startup-v0", reward={"time": 1.0, "loss": 0.0})
    rows = ff.ab("cdn", arms=["rapid"], baseline="slowstart", flows=100, seed=3, keep_rows=True).rows
    assert rows is not None
    times = {row["path_index"]: row["ttlb_ms"] for row in rows if row["arm"] == "slowstart"}
    env.reset(seed=3)
    for _ in range(10):
        _, rewards, info = until_the_end(env, 0.5)
        assert info["ttlb_ms"] == pytest.approx(times[info["connection"]], abs=1e-3), "rows are in thousandths of a millisecond"
        assert rewards == pytest.approx(-info["ttlb_ms"] / info["ideal_ms"])
        env.reset()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_a_vector_is_as_many_single_environments(mode: AutoresetMode) -> None:
    places, generator = 7, np.random.default_rng(1)
    vector = gymnasium.make_vec("firstflight/Startup-v0", places, autoreset_mode=mode, action="window")
    singles = [gymnasium.make("firstflight/Startup-v0", action="window").unwrapped for _ in range(places)]
    observations, infos = vector.reset(seed=11)
    over, following = np.zeros(places, bool), [0] * places

    def start(place: int, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        seen, info = singles[place].reset(seed=seed, options={"connection": following[place]})
        following[place] = int(info["connection"]) + places
        return seen, info

    def same_info(place: int, info: dict[str, Any], given: dict[str, Any]) -> None:
        known = {name: float(given[name][place]) for name in given if not name.startswith(("_", "final")) and given[f"_{name}"][place]}
        assert known == info

    for place in range(places):
        following[place] = place
        seen, info = start(place, 11)
        assert (seen == observations[place]).all()
        same_info(place, info, infos)
    for _ in range(40):
        actions = generator.uniform(-1, 1, (places, 2)).astype(np.float32)
        actions[:, 1] -= 0.8
        if mode is AutoresetMode.DISABLED and over.any():
            observations, infos = vector.reset(options={"reset_mask": over})
            for place in np.flatnonzero(over).tolist():
                assert (start(place)[0] == observations[place]).all()
        observations, rewards, terminated, truncated, infos = vector.step(actions)
        for place in range(places):
            if over[place] and mode is AutoresetMode.NEXT_STEP:
                (seen, info), reward, ended, cut = start(place), 0.0, False, False
            else:
                seen, reward, ended, cut, info = singles[place].step(actions[place])
                if (ended or cut) and mode is AutoresetMode.SAME_STEP:
                    assert (infos["final_obs"][place] == seen).all() and infos["_final_obs"][place]
                    same_info(place, info, infos["final_info"])
                    seen, info = start(place)
            assert (observations[place] == seen).all(), FEATURES
            assert (rewards[place], terminated[place], truncated[place]) == (reward, ended, cut)
            same_info(place, info, infos)
        over = terminated | truncated
    assert following != list(range(places, 2 * places)), "no connection has ended"


def test_observations_are_copies_unless_that_is_declined() -> None:
    first, _ = gymnasium.make_vec("firstflight/Sender-v0", 3).reset(seed=1)
    first[:] = 0
    vector = gymnasium.make_vec("firstflight/Sender-v0", 3, copy=False)
    seen, _ = vector.reset(seed=1)
    kept = seen.tolist()
    vector.step(np.ones((3, 1), np.float32))
    assert seen.tolist() == kept, "a step changes no earlier observation"
    with pytest.raises(ValueError, match="read-only"):
        seen[:] = 0


def test_places_can_have_chosen_connections() -> None:
    vector = StartupVector(4)
    seen, infos = vector.reset(seed=2, options={"connections": [40, 40, 41, 41]})
    assert (seen[0] == seen[1]).all() and infos["connection"][0] == infos["connection"][1] >= 40
    with pytest.raises(ff.Refused, match="connections: 2 values for 4 environments"):
        vector.reset(options={"connections": [1, 2]})


def test_a_policy_is_an_arm_that_decides_as_in_training(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    layers = [(generator.normal(0, 0.4, (6, 12)), generator.normal(0, 0.5, 6)), (generator.normal(0, 0.7, (1, 6)), np.array([0.2]))]
    policy = Policy.quantised(layers)
    file = tmp_path / "mine.json"
    policy.save(file)
    assert Policy.load(file).text == policy.text
    vector = StartupVector(20, autoreset_mode=AutoresetMode.DISABLED)
    seen, _ = vector.reset(seed=9)
    over: Any = np.zeros(20, bool)
    while not over.all():
        actions = policy.decide(seen)
        exact = seen @ layers[0][0].T.astype(np.float32) + layers[0][1]
        exact = np.clip(np.clip(exact, 0, 32) @ layers[1][0].T + layers[1][1], -1, 1)
        assert np.abs(actions - exact).max() < 0.25, "eight bits are close to the weights"
        seen, _, terminated, truncated, infos = vector.step(actions)
        over = terminated | truncated
    rows = ff.ab("cdn", arms=[f"learned({file})"], baseline="slowstart", flows=200, seed=9, keep_rows=True).rows
    assert rows is not None
    times = {row["path_index"]: row["ttlb_ms"] for row in rows if row["arm"] != "slowstart"}
    for connection, time in zip(infos["connection"], infos["ttlb_ms"], strict=True):
        if connection in times:
            assert time == pytest.approx(times[connection], abs=1e-3), connection


def test_the_trained_example_beats_slow_start_on_a_population_that_it_has_not_seen() -> None:
    learned = f"learned({ROOT / 'samples' / 'startup.json'})"
    slowstart, ours = ff.ab("cdn-global-2019", arms=[learned], baseline="slowstart", flows=1_000, seed=1_000).part("all")
    assert ours["reduction_pct_low"] > 5, f"the completion time is {ours['reduction_pct']} % shorter, at least {ours['reduction_pct_low']} %"
    assert ours["loss_pct_mean"] < slowstart["loss_pct_mean"], f"{ours['loss_pct_mean']} % loss, slow start {slowstart['loss_pct_mean']} %"


def test_the_page_lists_the_observations() -> None:
    page = (ROOT / "docs" / "learn.md").read_text()
    rows = "".join(f"| `{name}` | {about} |\n" for name, about in FEATURES.items())
    assert f"| name | meaning |\n|---|---|\n{rows}\n" in page, f"docs/learn.md has another list than:\n{rows}"


ROW = {"weights": [[1] * 12], "bias": [0], "shift": 6}
GOOD: dict[str, Any] = {"firstflight_policy": 1, "acts": "startup", "control": "growth", "step": "rtt", "layers": [ROW]}
NO_POLICY = [
    ("", "EOF while parsing"),
    ("[" * 100_000, "invalid type: sequence"),
    (GOOD | {"firstflight_policy": 2}, "firstflight_policy 2: allowed: 1"),
    (GOOD | {"control": "growht"}, r"did you mean `growth`\?"),
    (GOOD | {"steps": "rtt"}, "unknown field"),
    (GOOD | {"layers": []}, "0 layers; allowed: 1 to 4"),
    (GOOD | {"layers": [ROW | {"weights": [[1.5] * 12]}]}, "expected i8"),
    (GOOD | {"layers": [ROW | {"weights": [[128] * 12]}]}, "expected i8"),
    (GOOD | {"layers": [ROW | {"weights": []}]}, "layer 1: 0 rows of weights; allowed: 1 to 64"),
    (GOOD | {"layers": [ROW | {"weights": [[1] * 3]}]}, "layer 1: 3 weights in a row for 12 inputs"),
    (GOOD | {"layers": [ROW | {"bias": [0, 0]}]}, "layer 1: 2 biases for 1 rows"),
    (GOOD | {"layers": [ROW | {"bias": [-(2**31)]}]}, "bias -2147483648; allowed: -16777216 to 16777216"),
    (GOOD | {"layers": [ROW | {"shift": 25}]}, "shift 25; allowed: 0 to 24"),
    (GOOD | {"layers": [ROW | {"weights": [[1] * 12] * 2, "bias": [0, 0]}]}, "2 outputs; a decision of this policy has 1"),
]


@pytest.mark.parametrize(("content", "message"), NO_POLICY, ids=[message for _, message in NO_POLICY])
def test_a_file_that_is_no_policy_is_refused_in_one_line(content: str | dict[str, Any], message: str) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(ff.Refused, match=message) as refused:
        Policy(text)
    assert "\n" not in str(refused.value)


def test_the_largest_weights_do_not_overflow() -> None:
    wide = {"weights": [[127] * 12] * 64, "bias": [2**24] * 64, "shift": 0}
    middle = {"weights": [[127] * 64] * 64, "bias": [2**24] * 64, "shift": 0}
    last = {"weights": [[-128] * 64], "bias": [-(2**24)], "shift": 24}
    policy = Policy(json.dumps(GOOD | {"layers": [wide, middle, last]}))
    # -128 * 2047 * 64 - 2^24, shifted by 24 bits and rounded down, in units of 1/64.
    assert policy.decide(np.full((1, 12), 2047 / 64)).tolist() == [[-2 / 64]]


REFUSED = [
    ({"action": "gain"}, "control `gain`: is unknown; allowed: growth, window, rate"),
    ({"step": "rt"}, "step `rt`: allowed: ack, rtt, or a time from 100us to 10s"),
    ({"reward": {"tmie": 1.0}}, "reward: `tmie` is unknown; allowed: time, loss, queue"),
    ({"reward": {"time": float("inf")}}, "a price is a finite number"),
    ({"iw": 0}, "iw 0: allowed: 1 to 1000 packets"),
    ({"limit": "2h"}, "limit"),
    ({"num_envs": 0}, "0 connections side by side; allowed: 1 to"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_a_wrong_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ff.Refused, match=message):
        StartupVector(**({"num_envs": 2} | options))


def test_wrong_calls_are_refused(tmp_path: Path) -> None:
    vector = StartupVector(2)
    with pytest.raises(ff.Refused, match="call reset first"):
        vector.step(np.zeros((2, 1)))
    vector.reset(seed=1)
    with pytest.raises(ff.Refused, match="4 bytes of actions; allowed: 8"):
        vector.step(np.zeros((1, 1)))
    with pytest.raises(ff.Refused, match="share one seed"):
        vector.reset(seed=[1, 2])
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(ff.Refused, match=r"policy .*bad.json: EOF while parsing"):
        ff.compare("geo", arms=[f"learned({tmp_path / 'bad.json'})"])
