#!/usr/bin/env python3
"""Trains a startup with PPO of Stable-Baselines3, writes it as a file of integers, and judges it (`pip install stable-baselines3`).

    python/examples/stable_baselines.py ppo.json                  some minutes
    python/examples/stable_baselines.py ppo.json --steps 20000    a first look

`Connections` is all that Stable-Baselines3 needs to run connections side by side, in Rust.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnv, VecNormalize
from train_startup import HELD_OUT, REWARD, SEED, TRAINED_ON, judge

from firstflight.gym import Policy

PLACES = 128
STEPS = 400_000


class Connections(VecEnv):  # type: ignore[misc]  # its types are not read
    """Connections of several populations as Stable-Baselines3 expects them: a place whose connection ends begins its next one in the same step."""

    def __init__(self, places: int, populations: Sequence[str], **options: Any) -> None:
        self.vectors: list[Any] = [
            gymnasium.make_vec("firstflight/Startup-v0", places, population=name, autoreset_mode="SameStep", **options) for name in populations
        ]
        first = self.vectors[0]
        super().__init__(places * len(populations), first.single_observation_space, first.single_action_space)

    def reset(self) -> Any:
        seed = self._seeds[0]
        self._reset_seeds()
        return np.concatenate([vector.reset(seed=seed)[0] for vector in self.vectors])

    def step_async(self, actions: Any) -> None:
        self.actions = actions

    def step_wait(self) -> Any:
        parts: list[list[Any]] = [[], [], []]
        of_place: list[dict[str, Any]] = []
        for vector, actions in zip(self.vectors, np.split(self.actions, len(self.vectors)), strict=True):
            observations, rewards, terminated, truncated, infos = vector.step(actions)
            over = terminated | truncated
            for part, new in zip(parts, (observations, rewards.astype(np.float32), over), strict=True):
                part.append(new)
            for place in range(vector.num_envs):
                ended = {"terminal_observation": infos["final_obs"][place], "TimeLimit.truncated": bool(truncated[place])} if over[place] else {}
                of_place.append(ended)
        return (*(np.concatenate(part) for part in parts), of_place)

    def close(self) -> None:
        for vector in self.vectors:
            vector.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.vectors[0], attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError("the places of a vector share their settings")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        raise NotImplementedError("the places of a vector are no environments of their own")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * len(list(self._get_indices(indices)))


def policy_of(model: PPO, normalised: VecNormalize) -> Policy:
    """The mean decision of the model as integers. The normalisation of observations becomes part of the first layer."""
    network = model.policy
    linear = [*(layer for layer in network.mlp_extractor.policy_net if isinstance(layer, torch.nn.Linear)), network.action_net]
    layers: list[Sequence[Any]] = [(layer.weight.detach().numpy().astype(float), layer.bias.detach().numpy().astype(float)) for layer in linear]
    weights, bias = layers[0]
    statistics: Any = normalised.obs_rms
    scaled = weights / np.sqrt(statistics.var + normalised.epsilon)
    return Policy.quantised([(scaled, bias - scaled @ statistics.mean), *((one[0], one[1]) for one in layers[1:])])


def train(steps: int = STEPS) -> Policy:
    """PPO that starts from slow start, on the populations of `train_startup`."""
    normalised = VecNormalize(Connections(PLACES, TRAINED_ON, reward=REWARD), gamma=1.0)
    network: dict[str, Any] = {"net_arch": {"pi": [12], "vf": [32, 32]}, "activation_fn": torch.nn.ReLU, "log_std_init": -1.5}
    model = PPO("MlpPolicy", normalised, n_steps=32, batch_size=1024, gamma=1.0, learning_rate=1e-3, policy_kwargs=network, seed=SEED)
    # The first policy doubles the window per round trip.
    model.policy.action_net.bias.data.fill_(0.5)
    model.learn(steps)
    return policy_of(model, normalised)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains a startup with PPO and judges it on connections that it has not seen.")
    parser.add_argument("file", type=Path, help="file of the policy")
    parser.add_argument("--steps", type=int, default=STEPS, help=f"decisions in the training ({STEPS})")
    given = parser.parse_args()
    torch.set_num_threads(1)
    train(given.steps).save(given.file)
    for population in TRAINED_ON + HELD_OUT:
        print(f"\n{judge(f'learned({given.file})', population)}", flush=True)


if __name__ == "__main__":
    main()
