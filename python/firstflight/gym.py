"""Gymnasium environments for learned startups and senders (`pip install 'firstflight[gym]'`). Importing this module registers them.

>>> import gymnasium
>>> import firstflight.gym
>>> env = gymnasium.make("firstflight/Startup-v0", population="cdn")
>>> observation, info = env.reset(seed=1)
>>> observation, reward, terminated, truncated, info = env.step([0.5])     # the window doubles per round trip, as in slow start

An episode is a connection of a population that carries one object over QUIC, alone on its path. In `firstflight/Startup-v0` the agent
decides until startup ends, by its own decision or by congestion; CUBIC and PRR carry the rest within the last step. In
`firstflight/Sender-v0` it decides until the object is delivered, losses only show in the observation, and nothing else reduces the window.

`gymnasium.make_vec("firstflight/Startup-v0", num_envs=1024)` runs many connections in one call, in Rust, without the interpreter's lock.

A `Policy` is a small network of integers. Its file is an arm of every command: `learned(policy.json)`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, final

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from . import _engine
from ._engine import Refused
from ._options import write_whole
from ._population import Population, population_of

Array = NDArray[Any]

_COLUMNS, _ACCOUNT = _engine.learned_columns()

FEATURES: dict[str, str] = dict(_COLUMNS)
"""Name and meaning of each value of an observation, in their order. All are multiples of 1/64 from 0 to 32, except `action`."""

_PRICES = {"time": 1.0, "loss": 1.0, "queue": 0.0}

_LARGEST = 2047 / 64
_UNIT = 64


def _spaces(fleet: _engine.Fleet) -> tuple[Box, Box]:
    low = np.array([-1.0 if name == "action" else 0.0 for name in FEATURES], np.float32)
    high = np.array([1.0 if name == "action" else _LARGEST for name in FEATURES], np.float32)
    return Box(low, high, dtype=np.float32), Box(-1.0, 1.0, (fleet.values,), np.float32)


class _Fleet:
    """Connections side by side, as arrays."""

    def __init__(
        self,
        acts: str,
        places: int,
        population: str | os.PathLike[str] | Population,
        action: str,
        step: str,
        reward: Mapping[str, float] | None,
        iw: int | None,
        limit: str,
    ) -> None:
        unknown = set(reward or {}) - set(_PRICES)
        if unknown:
            raise Refused(f"reward: `{sorted(unknown)[0]}` is unknown; allowed: {', '.join(_PRICES)}")
        prices = _PRICES | dict(reward or {})
        given = population_of(population)
        prices_of = (float(prices["time"]), float(prices["loss"]), float(prices["queue"]))
        self.engine = _engine.Fleet(given._inner, (acts, action, step), places, iw, limit, prices_of)
        self.places = places

    def views(self) -> tuple[Array, Array, Array, Array, Array]:
        """Read-only observations, rewards, `terminated`, `truncated` and accounts of all places."""
        seen, reward, terminated, truncated, account = self.engine.views()
        return (
            np.frombuffer(seen, np.float32).reshape(self.places, len(FEATURES)),
            np.frombuffer(reward, np.float64),
            np.frombuffer(terminated, np.bool_),
            np.frombuffer(truncated, np.bool_),
            np.frombuffer(account, np.float64).reshape(self.places, len(_ACCOUNT)),
        )


class _Connection(gymnasium.Env[Array, Array]):
    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as the base class declares it
    _acts: ClassVar[str]

    def __init__(
        self,
        population: str | os.PathLike[str] | Population = "cdn",
        *,
        action: str = "growth",
        step: str = "rtt",
        reward: Mapping[str, float] | None = None,
        iw: int | None = None,
        limit: str = "60s",
    ) -> None:
        self._fleet = _Fleet(self._acts, 1, population, action, step, reward, iw, limit)
        self.observation_space, self.action_space = _spaces(self._fleet.engine)
        self._seeded = False
        self._over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Starts the next connection; the first after `seed` is number 0, or `options={"connection": NUMBER}`."""
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**32))
        connection = (options or {}).get("connection")
        self._seeded, self._over = True, False
        self._fleet.engine.reset(seed, None if connection is None else [int(connection)])
        seen, _, _, _, account = self._fleet.views()
        return seen[0].copy(), _info(account[0])

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Decides, and runs to the next decision or to the end."""
        if self._over:
            raise Refused("step: the connection has ended; call reset first")
        self._fleet.engine.step(np.asarray(action, np.float32).tobytes())
        seen, reward, terminated, truncated, account = self._fleet.views()
        self._over = bool(terminated[0] or truncated[0])
        return seen[0].copy(), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _info(account[0])


def _info(account: Array) -> dict[str, Any]:
    """The account, without numbers that are not known yet."""
    return {name: float(value) for name, value in zip(_ACCOUNT, account, strict=True) if not np.isnan(value)}


@final
class Startup(_Connection):
    """`firstflight/Startup-v0`: decides until startup ends.

    `population` is a built-in name, a file or a `Population`. `action` is what the agent sets: `growth`, `window` or `rate`. `step` is when:
    `ack`, `rtt`, or a time such as `10ms`. `reward` has the prices of `time`, `loss` and `queue`; `iw` is the initial window in packets, that
    of the population if `None`, and `limit` truncates a connection.
    """

    _acts = "startup"


@final
class Sender(_Connection):
    """`firstflight/Sender-v0`: decides until the object is delivered. The options are those of `Startup`."""

    _acts = "sender"


class _Connections(VectorEnv[Array, Array, Array]):
    _acts: ClassVar[str]

    def __init__(
        self,
        num_envs: int = 1,
        population: str | os.PathLike[str] | Population = "cdn",
        *,
        action: str = "growth",
        step: str = "rtt",
        reward: Mapping[str, float] | None = None,
        iw: int | None = None,
        limit: str = "60s",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        self._fleet = _Fleet(self._acts, num_envs, population, action, step, reward, iw, limit)
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {"render_modes": [], "autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = _spaces(self._fleet.engine)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._copy = copy
        self._seeded = False
        self._over: Array = np.zeros(num_envs, np.bool_)

    def reset(self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Starts a connection in every place, or in those of `options["reset_mask"]`.

        There is one `seed`. After it, place `k` has the connections `k`, `k + num_envs`, ...; `options["connections"]` gives every place the
        number of its next connection, so that candidates can be compared on the same ones.
        """
        if seed is not None and not isinstance(seed, int):
            raise Refused("seed: the places of a vector share one seed; allowed: a whole number")
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**32))
        options = options or {}
        mask = options.get("reset_mask")
        connections = options.get("connections")
        chosen = None if connections is None else [int(number) for number in connections]
        for name, given in (("connections", connections), ("reset_mask", mask)):
            if given is not None and len(given) != self.num_envs:
                raise Refused(f"{name}: {len(given)} values for {self.num_envs} environments")
        self._seeded = True
        which = None if mask is None else np.asarray(mask, np.bool_)
        self._fleet.engine.reset(seed, chosen, None if which is None else which.tobytes())
        self._over = np.zeros(self.num_envs, np.bool_) if which is None else self._over & ~which
        seen, _, _, _, account = self._fleet.views()
        return self._given(seen), _infos(account)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Decides in every place. With `autoreset_mode` disabled, a connection that has ended stays as it is, with a reward of 0."""
        if not self._seeded:
            raise Refused("step: no connection has begun; call reset first")
        engine, over = self._fleet.engine, self._over
        # A place that resets in this step has no connection, so that its action does nothing.
        engine.step(np.ascontiguousarray(actions, np.float32).tobytes())
        if self.autoreset_mode is AutoresetMode.NEXT_STEP and over.any():
            engine.reset(None, None, over.tobytes())
        seen, reward, terminated, truncated, account = self._fleet.views()
        self._over = terminated | truncated
        infos = _infos(account)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._over.any():
            infos = {"final_obs": seen, "_final_obs": self._over, "final_info": infos, "_final_info": self._over}
            engine.reset(None, None, self._over.tobytes())
            seen, _, _, _, account = self._fleet.views()
            infos |= _infos(account)
        return self._given(seen), reward.copy(), terminated.copy(), truncated.copy(), infos

    def _given(self, seen: Array) -> Array:
        return seen.copy() if self._copy else seen


def _infos(account: Array) -> dict[str, Any]:
    """The accounts as columns, each with a mask of the places where the number is known."""
    known = ~np.isnan(account)
    infos: dict[str, Any] = {}
    for column, name in enumerate(_ACCOUNT):
        infos[name], infos[f"_{name}"] = account[:, column], known[:, column]
    return infos


@final
class StartupVector(_Connections):
    """Many `firstflight/Startup-v0` side by side. `copy=False` returns observations that cannot be written to; every step returns new ones."""

    _acts = "startup"


@final
class SenderVector(_Connections):
    """Many `firstflight/Sender-v0` side by side, with the options of `StartupVector`."""

    _acts = "sender"


@final
class Policy:
    """A trained policy: a network of 8-bit weights, evaluated in integers, that decides alike in training and as an arm.

    >>> import numpy as np
    >>> from firstflight.gym import Policy
    >>> weights = np.zeros((1, 12)); weights[0, 4] = -1.0                   # less growth the longer the round trip has become
    >>> policy = Policy.quantised([(weights, np.array([1.5]))])
    >>> policy.decide(np.array([[4, 15, 12, 1, 1.25, 1, 1, 1, 0, 0.5, 3, 3]], np.float32))
    array([[0.25]], dtype=float32)
    """

    __slots__ = ("_inner", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._inner = _engine.Policy(text)

    @classmethod
    def load(cls, file: str | os.PathLike[str]) -> Policy:
        """Reads a file."""
        return cls(Path(file).read_text(encoding="utf-8"))

    @classmethod
    def quantised(cls, layers: Sequence[tuple[Array, Array]], *, acts: str = "startup", action: str = "growth", step: str = "rtt") -> Policy:
        """Rounds the weights (outputs x inputs) and biases of each layer to integers; between layers is a ReLU, cut at 32.

        The scale of a layer is the power of two that makes best use of 8 bits. `acts` is `startup` or `sender`; `action` and `step` are those
        of the environment.
        """
        rows = []
        for weights, bias in layers:
            most = float(np.abs(weights).max(initial=2.0**-16))
            shift = int(np.clip(np.floor(np.log2(127 / most)), 0, 16))
            whole = np.clip(np.rint(np.asarray(weights, np.float64) * 2**shift), -128, 127).astype(int)
            # Half a unit, because a shift rounds down.
            half = 2 ** (shift - 1) if shift else 0
            biases = np.clip(np.rint(np.asarray(bias, np.float64) * _UNIT * 2**shift) + half, -(2**24), 2**24).astype(int)
            rows.append({"weights": whole.tolist(), "bias": biases.tolist(), "shift": shift})
        head = {"firstflight_policy": 1, "acts": acts, "control": action, "step": step}
        return cls(json.dumps(head | {"layers": rows}) + "\n")

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes the file of the arm `learned(FILE)`."""
        write_whole(Path(file), self.text)

    def decide(self, observations: Array) -> Array:
        """The actions for a batch of observations."""
        seen = np.ascontiguousarray(observations, np.float32)
        return np.frombuffer(self._inner.decide(seen.tobytes()), np.float32).reshape(len(seen), -1)


for _name in ("Startup", "Sender"):
    gymnasium.register(f"firstflight/{_name}-v0", entry_point=f"firstflight.gym:{_name}", vector_entry_point=f"firstflight.gym:{_name}Vector")
