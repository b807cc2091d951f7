"""Progress bars for terminals and notebooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

_PATIENCE_S = 1.0


def _watched() -> bool:
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    # A notebook has no terminal, but somebody looks at it.
    return "ipykernel" in sys.modules


@contextmanager
def progress(wanted: bool | None, total: int, unit: str) -> Iterator[Callable[[int], object] | None]:
    """A bar for runs over a second; `None` shows one in notebooks and on terminals if tqdm is installed."""
    if wanted is False or (wanted is None and not _watched()):
        yield None
        return
    try:
        # Without its widgets a notebook shows the bar of a terminal.
        if "ipykernel" in sys.modules and find_spec("ipywidgets") is not None:
            from tqdm.notebook import tqdm
        else:
            from tqdm import tqdm
    except ImportError:
        if wanted:
            raise
        yield None
        return
    with tqdm(total=total, unit=f" {unit}", delay=_PATIENCE_S, mininterval=0.5, leave=False) as bar:
        yield bar.update
