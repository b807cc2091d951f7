#!/usr/bin/env python3
"""Steps per core-second of the Gymnasium environments, resets included. The package must be installed, from a release build.

benches/gym.py [PROCESSOR_SECONDS_EACH]
"""

import sys
import time

import gymnasium
import numpy as np

import firstflight.gym  # registers the environments


def main() -> None:
    seconds = float(sys.argv[1]) if sys.argv[1:] else 5.0
    print("environment                  step    single   vector of 1024")
    for name in ("Startup", "Sender"):
        for step in ("rtt", "ack"):
            env = gymnasium.make(f"firstflight/{name}-v0", disable_env_checker=True, step=step).unwrapped
            vector = gymnasium.make_vec(f"firstflight/{name}-v0", 1024, step=step)
            print(f"firstflight/{name + '-v0':12}     {step:4} {single(env, seconds):9,.0f} {many(vector, seconds):16,.0f}")


def single(env, seconds: float) -> float:
    env.reset(seed=1)
    # A sender neither grows nor shrinks on average; slow start would only fill queues.
    action, steps, began = np.array([0.25], np.float32), 0, time.process_time()
    while time.process_time() - began < seconds:
        for _ in range(100):
            _, _, terminated, truncated, _ = env.step(action)
            steps += 1
            if terminated or truncated:
                env.reset()
    return steps / (time.process_time() - began)


def many(vector, seconds: float) -> float:
    vector.reset(seed=1)
    actions, steps, over = np.full((vector.num_envs, 1), 0.25, np.float32), 0, 0
    began = time.process_time()
    while time.process_time() - began < seconds:
        _, _, terminated, truncated, _ = vector.step(actions)
        # A place that resets takes no step.
        steps += vector.num_envs - over
        over = int((terminated | truncated).sum())
    return steps / (time.process_time() - began)


if __name__ == "__main__":
    main()
