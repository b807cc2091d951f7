"""Plots of results with matplotlib (`pip install 'firstflight[plot]'`). Every function draws into `ax`, or a new figure, and returns the axes."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from ._engine import Refused, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._ab import AbResult, Part
    from ._compare import Comparison
    from ._sweep import Sweep

# The colours and marks of the pages: told apart by everybody, and an arm has the same ones everywhere.
_COLOURS = ["#0062b3", "#d35400", "#00876c", "#6a1468", "#54380a", "#848e9e"]
_MARKS = ["o", "s", "^", "D", "X", "v", "_", "P"]
_QUIET = "#555555"


def _axes(ax: Axes | None, height: float = 4.0) -> Axes:
    if ax is not None:
        return ax
    figure, axes = plt.subplots(figsize=(8.0, height), layout="constrained")
    del figure
    return axes


Title = str | None
"""Title of a plot: `"auto"` describes the plot, `None` omits the title."""


def _finish(ax: Axes, title: Title, auto: str, x: str, y: str) -> Axes:
    if title is not None:
        ax.set_title(auto if title == "auto" else title, loc="left", fontsize="medium")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def _colours(arms: Sequence[str]) -> dict[str, str]:
    return {arm: _COLOURS[look % len(_COLOURS)] for arm, look in zip(arms, looks(arms), strict=True)}


def _marks(arms: Sequence[str]) -> dict[str, str]:
    return {arm: _MARKS[look % len(_MARKS)] for arm, look in zip(arms, looks(arms), strict=True)}


def window(result: Comparison, *, arms: Sequence[str] | None = None, ax: Axes | None = None, title: Title = "auto") -> Axes:
    """See `Comparison.plot_window`."""
    shown = result.arms if arms is None else list(arms)
    for arm in shown:
        if arm not in result.arms:
            raise Refused(f"arm `{arm}`: is not in this comparison; allowed: {', '.join(result.arms)}")
    what = result.experiment
    trace = result.trace
    lines: dict[str, tuple[list[float], list[int], list[tuple[float, int]]]] = {arm: ([], [], []) for arm in result.arms}
    columns = (trace.column(name) for name in ("arm", "time_ms", "cwnd", "lost_bytes"))
    for arm, time, cwnd, lost in zip(*columns, strict=True):
        times, windows, losses = lines[arm]
        times.append(time)
        windows.append(cwnd)
        if lost:
            losses.append((time, cwnd))
    full = what["bdp_bytes"] + (what["queue_bytes"] or 0)
    scale, unit = (1e6, "MB") if max(full, *(max(line[1], default=0) for line in lines.values())) >= 2e6 else (1e3, "kB")
    axes = _axes(ax)
    axes.axhspan(what["bdp_bytes"] / scale, full / scale, color="#000000", alpha=0.05, linewidth=0)
    axes.axhline(what["bdp_bytes"] / scale, color=_QUIET, linewidth=0.8, linestyle="--")
    axes.axhline(full / scale, color=_QUIET, linewidth=0.8, linestyle=":")
    exits = {row["arm"]: row for row in result.rows.to_dicts() if row["seed"] == what["seed"]}
    for index, arm in enumerate(result.arms):
        if arm not in shown:
            continue
        times, windows, losses = lines[arm]
        colour = _colours(result.arms)[arm]
        style = "--" if arm.startswith("oracle") else "-"
        # Later lines are thinner: where two arms do the same, both are seen.
        width = max(1.2, 3.0 - 0.45 * index)
        axes.step(times, [bytes / scale for bytes in windows], where="post", color=colour, linestyle=style, linewidth=width, label=arm)
        row = exits[arm]
        if row["exit_time_ms"] is not None:
            axes.plot(row["exit_time_ms"], row["exit_cwnd"] / scale, "o", color=colour, markersize=5)
        if losses:
            axes.plot([losses[0][0]], [losses[0][1] / scale], "x", color=colour, markersize=6)
    levels = [("BDP", what["bdp_bytes"])] + ([("BDP + queue", full)] if what["queue_bytes"] else [])
    for label, level in levels:
        # Beside the axis, where no line runs through it.
        axes.annotate(
            label,
            (1.0, level / scale),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize="small",
            color=_QUIET,
            annotation_clip=False,
        )
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(frameon=False, fontsize="small")
    name = what["path_name"] or what["path"]
    auto = f"Congestion window on {name}; ● end of startup, × first loss"
    return _finish(axes, title, auto, "time since the first byte, ms", f"congestion window, {unit}")


def reduction(result: AbResult, *, by: Part | Literal["percentile"] = "group", ax: Axes | None = None, title: Title = "auto") -> Axes:
    """See `AbResult.plot_ttlb_reduction`."""
    competitors = result.arms[1:]
    if by == "percentile":
        axes = _axes(ax)
        rows = result.percentiles.to_dicts()
        for arm in competitors:
            own = [row for row in rows if row["arm"] == arm]
            axes.plot([row["percentile"] for row in own], [row["reduction_pct"] for row in own], color=_colours(result.arms)[arm], label=arm)
        axes.axhline(0, color=_QUIET, linewidth=0.8)
        axes.legend(frameon=False, fontsize="small")
        axes.set_xlim(0, 100)
        auto = f"{result.experiment['population']}: completion time by percentile, against {result.arms[0]}"
        return _finish(axes, title, auto, "percentile of connections", "reduction, %")
    parts = result.part("all") + ([] if by == "all" else result.part(by))
    names = list(dict.fromkeys(row["name"] for row in parts))
    flows = {row["name"]: row["flows"] for row in parts}
    axes = _axes(ax, 1.4 + 0.16 * len(names) * (len(competitors) + 1))
    for index, arm in enumerate(competitors):
        own = [row for row in parts if row["arm"] == arm]
        at = [names.index(row["name"]) + (index - (len(competitors) - 1) / 2) * 0.8 / len(competitors) for row in own]
        value = [row["reduction_pct"] for row in own]
        spread = [[row["reduction_pct"] - row["reduction_pct_low"] for row in own], [row["reduction_pct_high"] - row["reduction_pct"] for row in own]]
        axes.errorbar(value, at, xerr=spread, fmt="o", markersize=4, capsize=2, linewidth=1.2, color=_colours(result.arms)[arm], label=arm)
    axes.axvline(0, color=_QUIET, linewidth=0.8)
    axes.set_yticks(range(len(names)), [f"{name} ({flows[name]})" for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
    auto = f"{result.experiment['population']}: mean completion time against {result.arms[0]}, 95 % intervals"
    return _finish(axes, title, auto, "reduction, %", "")


def reduction_of_comparison(result: Comparison, *, baseline: str | None = None, ax: Axes | None = None, title: Title = "auto") -> Axes:
    """See `Comparison.plot_ttlb_reduction`."""
    base = result.arms[0] if baseline is None else baseline
    if base not in result.arms:
        raise Refused(f"baseline `{base}`: is not in this comparison; allowed: {', '.join(result.arms)}")
    times: dict[tuple[str, int], float | None] = {(row["arm"], row["seed"]): row["ttlb_ms"] for row in result.rows.to_dicts()}
    seeds = sorted({seed for _, seed in times})
    arms = [arm for arm in result.arms if arm != base]
    axes = _axes(ax, 1.4 + 0.4 * len(arms))
    for index, arm in enumerate(arms):
        pairs = [(times[arm, seed], times[base, seed]) for seed in seeds]
        shorter = [100.0 * (1.0 - own / other) for own, other in pairs if own is not None and other is not None]
        if not shorter:
            continue
        middle = statistics.median(shorter)
        spread = [[middle - min(shorter)], [max(shorter) - middle]]
        colour = _colours(result.arms)[arm]
        axes.errorbar([middle], [index], xerr=spread, fmt="o", capsize=3, color=colour)
        axes.annotate(f"{middle:+.1f} %", (middle, index), textcoords="offset points", xytext=(0, 7), ha="center", fontsize="small")
    axes.axvline(0, color=_QUIET, linewidth=0.8)
    axes.margins(x=0.15)
    axes.set_yticks(range(len(arms)), arms)
    axes.set_ylim(len(arms) - 0.5, -0.7)
    auto = f"Completion time against {base}" + (f", median and range of {len(seeds)} trials" if len(seeds) > 1 else "")
    return _finish(axes, title, auto, "reduction, %", "")


def _room(ends: tuple[float, float], least: float) -> tuple[float, float]:
    """Limits of an axis with a margin around the data, at least `least` wide before the margin; never below 0."""
    low, high = ends
    middle, span = (low + high) / 2, max(high - low, least)
    return max(0.0, middle - span * 0.6), middle + span * 0.6


def _scatter(axes: Axes, points: Sequence[dict[str, Any]]) -> None:
    """Points of time against loss with their spreads; points of the Pareto front are filled and joined."""
    front = sorted((point for point in points if point["front"]), key=lambda point: (point["time"], point["loss"]))
    axes.plot([point["time"] for point in front], [point["loss"] for point in front], color=_QUIET, linewidth=0.8, linestyle="--", zorder=1)
    for point in points:
        colour = point["colour"]
        axes.errorbar(
            [point["time"]],
            [point["loss"]],
            xerr=point.get("time_spread"),
            yerr=point.get("loss_spread"),
            fmt=point["mark"],
            markersize=7,
            linewidth=1.0,
            color=colour,
            markerfacecolor=colour if point["front"] else "white",
            label=point["arm"],
            zorder=2,
        )
    # As on the pages: room around the points, and differences that do not matter are not blown up to fill the picture.
    times, losses = [point["time"] for point in points], [point["loss"] for point in points]
    axes.set_xlim(*_room(axes.get_xlim(), max(times) * 0.05))
    axes.set_ylim(*_room(axes.get_ylim(), max(losses) * 0.2 or 0.01))
    axes.ticklabel_format(useOffset=False, style="plain")
    axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))


def pareto(result: AbResult, *, ax: Axes | None = None, title: Title = "auto") -> Axes:
    """See `AbResult.plot_pareto`."""
    points = [
        {
            "arm": row["arm"],
            "loss": row["loss_pct_mean"],
            "time": row["ttlb_ms_mean"],
            "front": row["front"],
            "colour": _colours(result.arms)[row["arm"]],
            "mark": _marks(result.arms)[row["arm"]],
        }
        for row in result.part("all")
    ]
    axes = _axes(ax)
    _scatter(axes, points)
    auto = f"{result.experiment['population']}, {result.flows} connections; filled: no other arm is better in both"
    return _finish(axes, title, auto, "mean completion time, ms", "mean loss, %")


def pareto_of_comparison(result: Comparison, *, ax: Axes | None = None, title: Title = "auto") -> Axes:
    """See `Comparison.plot_pareto`."""
    rows = result.rows.to_dicts()
    points: list[dict[str, Any]] = []
    for arm in result.arms:
        own = [row for row in rows if row["arm"] == arm and row["ttlb_ms"] is not None]
        if not own:
            continue
        times, losses = [row["ttlb_ms"] for row in own], [100.0 * row["loss_ratio"] for row in own]
        time, loss = statistics.median(times), statistics.median(losses)
        point: dict[str, Any] = {"arm": arm, "time": time, "loss": loss, "colour": _colours(result.arms)[arm], "mark": _marks(result.arms)[arm]}
        if len(own) > 1:
            point["time_spread"] = [[time - min(times)], [max(times) - time]]
            point["loss_spread"] = [[loss - min(losses)], [max(losses) - loss]]
        points.append(point)
    for point in points:
        point["front"] = not any(
            other["time"] <= point["time"] and other["loss"] <= point["loss"] and (other["time"], other["loss"]) != (point["time"], point["loss"])
            for other in points
        )
    axes = _axes(ax)
    _scatter(axes, points)
    return _finish(axes, title, "Time and loss; filled: no other arm is better in both", "completion time, ms", "loss, %")


def sweep_map(result: Sweep, *, measure: str = "ttlb_ms", ax: Axes | None = None, title: Title = "auto") -> Axes:
    """See `Sweep.plot_map`."""
    labels = {"ttlb_ms": ("completion time, ms", 1.0), "loss_ratio": ("loss, %", 100.0)}
    if measure not in labels:
        raise Refused(f"measure `{measure}`: allowed: {', '.join(labels)}")
    label, scale = labels[measure]
    keys = list(result.axes.items())
    across, values = keys[-1]
    colours, marks = _colours(result.arms), _marks(result.arms)
    if len(keys) == 1:
        axes = _axes(ax)
        for arm in result.arms:
            own = {row[across]: row[measure] for row in result.rows if row["arm"] == arm}
            points = [(place, own[value] * scale) for place, value in enumerate(values) if own.get(value) is not None]
            axes.plot([x for x, _ in points], [y for _, y in points], color=colours[arm], marker=marks[arm], label=arm)
        axes.set_xticks(range(len(values)), values)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, fontsize="small", loc="upper left", bbox_to_anchor=(1.0, 1.0))
        return _finish(axes, title, f"{label.split(',')[0].capitalize()} over {across}", across, label)
    down, lines = keys[0]
    axes = _axes(ax, 1.5 + 0.6 * len(lines))
    for row in result.best:
        if row["measure"] != measure:
            continue
        x, y = values.index(row[across]), lines.index(row[down])
        first = row["arms"].split(",")[0]
        if row["margin"] is not None:
            # A stronger colour is a larger margin; name and number stand in the cell, too.
            strength = 0.12 + 0.4 * min(1.0, row["margin"] / 25.0)
            axes.add_patch(Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, color=colours[first], alpha=strength, linewidth=0))
        unit = "%" if row["margin_unit"] == "%" else " points"
        text = "all the same" if row["margin"] is None else f"{row['arms'].replace(',', chr(10))}\n{row['margin']:.1f}{unit}"
        axes.annotate(text, (x, y), ha="center", va="center", fontsize="x-small")
    axes.set_xticks(range(len(values)), values)
    axes.set_yticks(range(len(lines)), lines)
    axes.set_xlim(-0.5, len(values) - 0.5)
    axes.set_ylim(len(lines) - 0.5, -0.5)
    _finish(axes, title, f"Best arm by {label.split(',')[0]}, with its margin over the second", across, down)
    axes.grid(visible=False)
    return axes
