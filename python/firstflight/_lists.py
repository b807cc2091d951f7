"""Lists of arms, paths, populations and documents."""

from . import _engine
from ._table import Table


def arms() -> Table:
    """All parts of arms: startups, avoidances, recoveries with their options, options of the sender, short names, controllers of QUIC stacks."""
    return Table(_engine.list_arms())


def paths() -> Table:
    """The built-in paths with their sources."""
    return Table(_engine.list_paths())


def populations() -> Table:
    """The built-in populations."""
    return Table(_engine.list_populations())


def documents() -> Table:
    """The documents whose published numbers can be reproduced, row by row."""
    return Table(_engine.list_sources())
