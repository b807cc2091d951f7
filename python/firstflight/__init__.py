"""TCP and QUIC startup and loss recovery: every algorithm on the same path, side by side.

>>> import firstflight as ff
>>> result = ff.compare("rapid-slide", arms=["slowstart", "hystart++"], bytes="2MB")
>>> result.rows.column("complete")
[True, True]

`compare` runs arms on one path, and `sweep` on many paths that differ in one or two keys. `ab` tests arms against a baseline on a
population of paths, and `tune` finds the parameters of an arm that suit it. `reproduce` compares published numbers with ours, `evaluate`
evaluates an algorithm as RFC 9743 asks, and `run` runs an experiment in a file. Results are `Table`s that pandas, Polars, DuckDB and
pyarrow read without copying. `Startup` is the base class for your own algorithms; `firstflight.ray` uses several machines.
"""

from ._ab import AbResult, ab
from ._arm import Arm, ArmLike
from ._captures import Advice, Replay, advise, replay
from ._compare import Comparison, compare
from ._engine import Ack, Context, Exit, InternalError, Ready, Refused, Sender, Window, __version__
from ._evaluate import Evaluation, evaluate
from ._experiment import Experiment, run
from ._lists import arms, documents, paths, populations
from ._path import Path
from ._population import Population
from ._reproduce import Reproduction, reproduce
from ._startup import Aim, Hold, Leave, Startup, Verdict
from ._sweep import Sweep, sweep
from ._table import Table
from ._trial import TrialAnswer, trial_analyse
from ._tune import Tuned, tune

__all__ = [
    "AbResult",
    "Ack",
    "Advice",
    "Aim",
    "Arm",
    "ArmLike",
    "Comparison",
    "Context",
    "Evaluation",
    "Exit",
    "Experiment",
    "Hold",
    "InternalError",
    "Leave",
    "Path",
    "Population",
    "Ready",
    "Refused",
    "Replay",
    "Reproduction",
    "Sender",
    "Startup",
    "Sweep",
    "Table",
    "TrialAnswer",
    "Tuned",
    "Verdict",
    "Window",
    "__version__",
    "ab",
    "advise",
    "arms",
    "compare",
    "documents",
    "evaluate",
    "paths",
    "populations",
    "replay",
    "reproduce",
    "run",
    "sweep",
    "trial_analyse",
    "tune",
]
