#!/usr/bin/env python3
"""Trains a startup with numpy alone, and judges it on connections and populations that it has not seen.

    python/examples/train_startup.py startup.json                   a few minutes on one core
    python/examples/train_startup.py startup.json --generations 3   a first look
    python/examples/train_startup.py startup.json --judge           only judges the file

The policy is a network with one hidden layer. The cross-entropy method finds its weights: draw candidates around a mean, run all of them on the
same connections, and move the mean towards those that cost least. A candidate is rounded to the integers of its file before it runs, so training
sees what the arm `learned(startup.json)` will do. The same command writes the same bytes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

import firstflight as ff
from firstflight.gym import FEATURES, Policy

Array = NDArray[np.float64]

TRAINED_ON = ("fixed-2025", "mobile-2025")
HELD_OUT = ("cdn-global-2019", "cdn", "leo-starlink", "geo")
REWARD = {"time": 1.0, "loss": 20.0, "queue": 0.2}
SEED, HOLD_OUT_SEED = 1, 1_000

GENERATIONS = 40
CANDIDATES = 32
ELITE = 8
CONNECTIONS = 96
HIDDEN = 6

# Typical size of each value of an observation: without it, logarithms of 15 would drown ratios of 1.
SIZES = np.array([5, 15, 14, 1.2, 1.2, 1, 1.5, 1, 3, 0.6, 4, 4])
# Spread of the first candidates: weights and biases of the hidden layer, then those of the output.
SPREAD = np.concatenate([np.tile(0.4 / SIZES, HIDDEN), np.full(HIDDEN, 0.4), np.full(HIDDEN, 0.25), [0.2]])
# A spread never falls below this share of the first one, or the search would stand still.
LEAST_SPREAD = 0.02


class Generation(NamedTuple):
    """The state of the search after a generation."""

    number: int
    policy: Policy
    """The mean of the search."""
    cost: dict[str, float]
    """Cost of the mean before this generation, in percent of slow start's, by population."""
    best: float
    """The same of the best candidate, over all populations."""


def policy_of(parameters: Array) -> Policy:
    """The network with these parameters, rounded to integers."""
    weights, bias, out, out_bias = np.split(parameters, np.cumsum([HIDDEN * len(FEATURES), HIDDEN, HIDDEN]))
    return Policy.quantised([(weights.reshape(HIDDEN, -1), bias), (out.reshape(1, -1), out_bias)])


def costs(vector: Any, policies: list[Policy], first: int) -> Array:
    """Cost of each policy on each connection over that of slow start, as logarithms: policies x connections.

    The cost is minus the sum of the rewards. All policies and slow start run side by side on the connections from number `first` on.
    """
    rows, count = len(policies) + 1, vector.num_envs // (len(policies) + 1)
    observations, _ = vector.reset(seed=SEED, options={"connections": list(range(first, first + count)) * rows})
    total, over = np.zeros(vector.num_envs), np.zeros(vector.num_envs, bool)
    while not over.all():
        seen = observations.reshape(rows, count, -1)
        # In the first row, the window doubles per round trip: slow start.
        decisions = [np.full((count, 1), 0.5, np.float32)] + [policy.decide(seen[row]) for row, policy in enumerate(policies, 1)]
        observations, rewards, terminated, truncated, _ = vector.step(np.concatenate(decisions))
        total -= rewards
        over = terminated | truncated
    logs = np.log(total).reshape(rows, count)
    ratios: Array = logs[1:] - logs[0]
    return ratios


def train(generations: int = GENERATIONS, populations: tuple[str, ...] = TRAINED_ON) -> Iterator[Generation]:
    """The generations of a training that starts from slow start; each one meets other connections."""
    draws = np.random.default_rng(SEED)
    mean, spread = np.zeros(len(SPREAD)), SPREAD
    # So the first policy doubles the window per round trip.
    mean[-1] = 0.5
    places = (CANDIDATES + 1) * CONNECTIONS
    vectors = [
        gymnasium.make_vec("firstflight/Startup-v0", places, population=name, reward=REWARD, autoreset_mode="Disabled", copy=False)
        for name in populations
    ]
    # The best candidate counts most, the last of the elite least.
    weights = np.log(ELITE + 0.5) - np.log(np.arange(1, ELITE + 1))
    weights = (weights / weights.sum())[:, None]
    for number in range(generations):
        noise = draws.standard_normal((CANDIDATES // 2, len(mean)))
        # In pairs on both sides of the mean; the first is the mean itself.
        candidates = mean + spread * np.concatenate([noise, -noise])
        candidates[0] = mean
        policies = [policy_of(candidate) for candidate in candidates]
        found = [costs(vector, policies, number * CONNECTIONS) for vector in vectors]
        cost = np.concatenate(found, axis=1).mean(axis=1)
        elite = candidates[np.argsort(cost, kind="stable")[:ELITE]]
        # Around the old mean: around the new one the spread would collapse before the mean has arrived.
        variance = (weights * (elite - mean) ** 2).sum(axis=0)
        mean = 0.3 * mean + 0.7 * (weights * elite).sum(axis=0)
        spread = np.maximum((spread + np.sqrt(variance)) / 2, LEAST_SPREAD * SPREAD)
        of_mean = {name: 100 * float(np.exp(one[0].mean())) for name, one in zip(populations, found, strict=True)}
        yield Generation(number, policy_of(mean), of_mean, 100 * float(np.exp(cost.min())))


def judge(arm: str, population: str, flows: int = 2_000) -> ff.AbResult:
    """An A/B test against slow start on connections that training has not met, beside two other startups."""
    return ff.ab(population, arms=["hystart++", "rapid", arm], baseline="slowstart", flows=flows, seed=HOLD_OUT_SEED)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a startup and judges it on connections that it has not seen.")
    parser.add_argument("file", type=Path, help="file of the policy")
    parser.add_argument("--generations", type=int, default=GENERATIONS, help=f"length of the training ({GENERATIONS})")
    parser.add_argument("--judge", action="store_true", help="judge the file without training")
    given = parser.parse_args()
    if not given.judge:
        print(f"{'generation':>10} {'best':>7} " + " ".join(f"{name:>12}" for name in TRAINED_ON) + "   cost, % of slow start's")
        for number, policy, cost, best in train(given.generations):
            policy.save(given.file)
            print(f"{number:>10} {best:>7.1f} " + " ".join(f"{value:>12.1f}" for value in cost.values()), flush=True)
    for population in TRAINED_ON + HELD_OUT:
        print(f"\n{judge(f'learned({given.file})', population)}", flush=True)


if __name__ == "__main__":
    main()
