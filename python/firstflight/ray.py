"""A/B tests on a Ray cluster (`pip install 'firstflight[ray]'`).

>>> from firstflight import ray as ffray                                # doctest: +SKIP
>>> ffray.ab("cdn", "rapid", flows=1_000_000, shards=16)                # doctest: +SKIP

A shard is a range of connections. Its sums are integers, so any number of shards in any order give the same bytes as one run. Ray schedules
the shards and reruns a shard whose worker was lost. The driver keeps finished shards in a checkpoint folder, and a restarted driver runs
the missing connections, in any number of shards.

Every machine of the cluster needs this package; the files of populations are sent with the test. `out` is a Parquet dataset that the
workers write: a folder that all of them can access, or the address of an object store.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import ray

from . import _engine
from ._ab import AbResult
from ._arm import ArmLike, as_list
from ._engine import Refused
from ._options import Number, folder_of, write_whole
from ._population import Population, engine_test, population_of
from ._progress import progress as progress_bar
from ._request import request

if TYPE_CHECKING:
    import pyarrow
    from pyarrow import fs

_RETRIES = 10
"""How often Ray reruns a shard whose worker was lost. Machines fail now and then, but a shard that kills every worker must not run forever."""

_SHARDS_PER_CPU = 4
"""A lost shard costs a quarter of a core's share, and the last shards leave few cores idle."""

_ROW_GROUP = 16_384
"""Rows per write: enough to compress well, few enough to buffer for every arm and group."""

_EXPERIMENT = "_experiment.json"


@dataclass(frozen=True)
class _Spec:
    """The test as workers receive it: picklable, and the same on every machine."""

    population: Population
    options: tuple[tuple[str, str], ...]

    def test(self) -> _engine.Test:
        return engine_test(self.population, list(self.options), {})


@dataclass(frozen=True, order=True)
class _Range:
    """Blocks `first` to `last`, inclusive."""

    first: int
    last: int

    @property
    def blocks(self) -> range:
        return range(self.first, self.last + 1)

    def __str__(self) -> str:
        return f"blocks-{self.first:07d}-{self.last:07d}"


_RANGE = re.compile(r"blocks-(\d{7})-(\d{7})")


def _range_of(name: str) -> _Range | None:
    found = _RANGE.search(name)
    return _Range(int(found[1]), int(found[2])) if found else None


def _cut(blocks: Iterable[int], shards: int) -> Iterator[_Range]:
    """Splits the blocks into about `shards` ranges of similar length, none of which spans a gap."""
    rest = sorted(blocks)
    done = 0
    while done < len(rest):
        # What is left is shared by what is left of the shards: their lengths differ by one at most.
        left = max(1, shards)
        length = -(-(len(rest) - done) // left)
        end = done + 1
        while end < min(done + length, len(rest)) and rest[end] == rest[end - 1] + 1:
            end += 1
        yield _Range(rest[done], rest[end - 1])
        done, shards = end, shards - 1


class _Dataset:
    """The rows of one shard as Parquet files, one per arm and group, which appear once they are complete."""

    def __init__(self, out: str, shard: _Range, experiment: dict[str, Any]) -> None:
        self._fs, self._root = _place(out)
        self._shard = shard
        self._experiment = experiment
        self._writers: dict[str, Any] = {}
        self._waiting: dict[str, list[pyarrow.Table]] = {}

    def write(self, batches: _engine.Batches) -> None:
        """Appends the rows of a block."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table = pa.table(batches)
        for arm in self._experiment["arms"]:
            of_arm = table.filter(pc.equal(table["arm"], arm))
            for group in self._experiment["groups"]:
                part = of_arm.filter(pc.equal(of_arm["group"], group)).drop_columns(["arm", "group"])
                if part.num_rows > 0:
                    self._take(f"{self._root}/arm={quote(arm, safe='')}/group={quote(group, safe='')}", part)

    def _take(self, folder: str, part: pyarrow.Table) -> None:
        waiting = self._waiting.setdefault(folder, [])
        waiting.append(part)
        if sum(table.num_rows for table in waiting) >= _ROW_GROUP:
            self._flush(folder)

    def _flush(self, folder: str) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.concat_tables(self._waiting.pop(folder)).unify_dictionaries().combine_chunks()
        if folder not in self._writers:
            self._fs.create_dir(folder, recursive=True)
            meta = {"firstflight.experiment_hash": self._experiment["hash"], "firstflight.shard": str(self._shard)}
            partial = f"{folder}/.{self._shard}.part"
            self._writers[folder] = pq.ParquetWriter(partial, table.schema.with_metadata(meta), filesystem=self._fs, compression="zstd")
        self._writers[folder].write_table(table)

    def close(self) -> None:
        """Gives the files their final names. A second attempt at the same shard writes the same names with the same rows."""
        for folder in list(self._waiting):
            self._flush(folder)
        for folder, writer in self._writers.items():
            writer.close()
            self._fs.move(f"{folder}/.{self._shard}.part", f"{folder}/{self._shard}.parquet")


def _place(out: str) -> tuple[fs.FileSystem, str]:
    """The file system and the folder that `out` names: a path, or an address such as `s3://bucket/folder`."""
    from pyarrow import fs

    if "://" in out:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(out)
        return found
    return fs.LocalFileSystem(), os.path.abspath(out)


def _prepare_dataset(out: str, experiment: str, done: Sequence[_Range]) -> None:
    """Checks that the folder is new or belongs to this test, and deletes files of shards that the checkpoint lacks, because they will be
    written again."""
    from pyarrow import fs

    system, root = _place(out)
    note = f"{root}/{_EXPERIMENT}"
    files = [info.path for info in system.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=True)) if info.is_file]
    if note in files:
        with system.open_input_stream(note) as known:
            if known.read().decode() != experiment:
                raise Refused(f"{out}: holds rows of another test; allowed: a new folder, or one of this very test")
    elif files:
        raise Refused(f"{out}: holds files that are no rows of a test; allowed: a new folder, or one of this very test")
    else:
        system.create_dir(root, recursive=True)
        with system.open_output_stream(note) as fresh:
            fresh.write(experiment.encode())
    for file in files:
        if file != note and _range_of(os.path.basename(file)) not in done:
            system.delete_file(file)


def _run_shard(spec: _Spec, shard: _Range, expected: str, out: str | None) -> tuple[bytes, float]:
    """Runs a worker's connections on one thread. Returns their sums and the CPU time, s."""
    start = time.process_time()
    test = spec.test()
    if test.hash != expected:
        # Sums of two versions must not be added up in silence.
        raise Refused(f"a worker has firstflight {_engine.__version__}, which means another test; allowed: one version in the whole cluster")
    rows = None if out is None else _Dataset(out, shard, {**json.loads(test.experiment()), "hash": test.hash})
    done = test.run(shard.blocks, 1, None, None if rows is None else rows.write)
    if rows is not None:
        rows.close()
    return done.to_bytes(), time.process_time() - start


class _Checkpoint:
    """Finished shards. A file is complete or absent; `firstflight ab merge` reads it."""

    def __init__(self, folder: str | None, test: _engine.Test) -> None:
        self._folder = folder
        self.shards: dict[_Range, _engine.Shard] = {}
        self.cpu_s = 0.0
        if folder is None:
            return
        if not os.path.isdir(folder):
            folder_of(folder.rstrip("/"))
            os.mkdir(folder)
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".ffab"):
                continue
            file = os.path.join(folder, name)
            with open(file, "rb") as saved:
                shard = _engine.Shard.from_bytes(file, saved.read())
            found = _range_of(name)
            if found is None or not shard.is_of(test) or shard.blocks != list(found.blocks):
                raise Refused(f"{file}: belongs to another test; allowed: an empty folder, or one of this very test")
            self.shards[found] = shard

    def add(self, where: _Range, content: bytes, cpu_s: float) -> _engine.Shard:
        self.cpu_s += cpu_s
        shard = _engine.Shard.from_bytes(str(where), content)
        if self._folder is not None:
            write_whole(os.path.join(self._folder, f"{where}.ffab"), content)
        self.shards[where] = shard
        return shard


def ab(
    # Options, written by `WRITE_DOCS=1 cargo test -p firstflight-lab --features request the_keyword_arguments_of_python`.
    population: str | os.PathLike[str] | Population = "cdn",
    arms: ArmLike | Sequence[ArmLike] = "jumpstart,rapid-nojump,rapid,plumb",
    *,
    baseline: ArmLike = "slowstart",
    transport: str = "quic",
    detection: str | None = None,
    seed: Number = 1,
    iw: Number | None = None,
    limit: Number = "600s",
    max_loss_cost: Number | None = None,
    max_queue: Number | None = None,
    max_slower: Number | None = None,
    # End of options.
    flows: Number = 1_000_000,
    shards: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    address: str | None = None,
    progress: bool | None = None,
) -> AbResult:
    """Runs the same test as `firstflight.ab` on a cluster, with a bit-identical result.

    `address` is the address of a cluster (`auto`, `ray://host:10001`). Without it, and unless Ray is already running in this program, the
    call starts a temporary cluster on this machine. `shards` defaults to four per core. `checkpoint` is a folder of the driver; shards in
    it are not run again. `out` is a dataset of rows: Parquet files partitioned by arm and group.
    """
    given = dict(locals())
    # Machines of a cluster have no Python of the user's: arms travel as text.
    given.update(arms=as_list(arms), baseline=as_list(baseline))
    options, _ = request(given, "population", "shards", "checkpoint", "out", "address", "progress")
    if shards is not None and not 1 <= shards <= 1_000_000:
        raise Refused(f"shards {shards}: is out of range; allowed: 1 to 1000000")
    spec = _Spec(population_of(population), tuple(options))
    test = spec.test()
    kept = _Checkpoint(None if checkpoint is None else os.fspath(checkpoint), test)
    rows = None if out is None else os.fspath(out)
    if rows is not None:
        _prepare_dataset(rows, test.experiment(), list(kept.shards))
    own = not ray.is_initialized()
    if own:
        ray.init(address=address, log_to_driver=False, logging_level="warning", include_dashboard=False if address is None else None)
    try:
        with progress_bar(progress, test.flows, "connections") as bar:
            if bar is not None:
                bar(sum(shard.flows for shard in kept.shards.values()))
            _run(spec, test, kept, shards, rows, bar)
    finally:
        if own:
            ray.shutdown()
    result = AbResult(_engine.join([(str(where), shard) for where, shard in sorted(kept.shards.items())]))
    result.cpu_s = kept.cpu_s
    return result


def _run(spec: _Spec, test: _engine.Test, kept: _Checkpoint, shards: int | None, rows: str | None, bar: Any) -> None:
    """Runs the blocks that the checkpoint lacks."""
    done = {block for where in kept.shards for block in where.blocks}
    if shards is None:
        shards = max(1, int(ray.cluster_resources().get("CPU", 1)) * _SHARDS_PER_CPU)
    task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_run_shard)
    shared = ray.put(spec)
    missing = (block for block in range(test.blocks) if block not in done)
    running = {task.remote(shared, where, test.hash, rows): where for where in _cut(missing, shards)}
    try:
        while running:
            ready, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
            for reference in ready:
                try:
                    content, cpu_s = ray.get(reference)
                except ray.exceptions.RayTaskError as error:
                    # What the worker refused, not how Ray came by it.
                    raise (error.cause if isinstance(error.cause, Refused) else error) from None
                shard = kept.add(running.pop(reference), content, cpu_s)
                if bar is not None:
                    bar(shard.flows)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _main(arguments: Sequence[str]) -> int:
    """Entry point of `firstflight ab --engine ray`; it writes the sums to a file, from which the command makes tables and reports."""
    parser = argparse.ArgumentParser(prog="python -m firstflight.ray", description=_main.__doc__)
    parser.add_argument("--save", required=True, help="file for the sums")
    parser.add_argument("--population", required=True)
    for name in ("resume", "out", "address"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--shards", type=int)
    known, options = parser.parse_known_args(arguments)
    given = vars(known)
    # What is left says what is tested; the engine reads it.
    for option in options:
        name, _, value = option.removeprefix("--").partition("=")
        given[name] = value
    save, resume = given.pop("save"), given.pop("resume")
    try:
        result = ab(checkpoint=resume, **given)
        result.save(save)
    except Refused as refused:
        # The command that waits for this prints it.
        print(refused)
        return 2
    except ConnectionError as error:
        # On one line: Ray says what happened on the next ones.
        print(f"--address {given['address']}: {' '.join(str(error).split())}")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    # Workers find this module by its name, not as the main program of another process.
    from firstflight.ray import _main as main

    sys.exit(main(sys.argv[1:]))
