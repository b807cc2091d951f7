"""Plots show what the tables say."""

from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from matplotlib.container import ErrorbarContainer
from matplotlib.text import Annotation

import firstflight as ff


@pytest.fixture(scope="module")
def comparison() -> ff.Comparison:
    return ff.compare("rapid-slide", repeat=3)


@pytest.fixture(scope="module")
def tested() -> ff.AbResult:
    return ff.ab("cdn", flows=1500)


@pytest.fixture(autouse=True)
def _closed(tmp_path: Path) -> object:
    yield
    for number in plt.get_fignums():
        plt.figure(number).savefig(tmp_path / f"{number}.png", dpi=60)
    plt.close("all")


def test_a_window_is_drawn_for_every_arm(comparison: ff.Comparison) -> None:
    ax = comparison.plot_window()
    legend = ax.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == comparison.arms
    top = max(comparison.trace.column("cwnd"))
    assert ax.get_ylim()[1] * (1e6 if "MB" in ax.get_ylabel() else 1e3) >= top
    only = comparison.plot_window(arms=["rapid"]).get_legend()
    assert only is not None and len(only.get_texts()) == 1
    with pytest.raises(ff.Refused, match="is not in this comparison"):
        comparison.plot_window(arms=["best"])


def test_a_title_may_be_left_out_and_limits_stand_beside_the_axis(comparison: ff.Comparison, tested: ff.AbResult) -> None:
    assert comparison.plot_window(title=None).get_title(loc="left") == ""
    assert tested.plot_pareto(title="Figure 1").get_title(loc="left") == "Figure 1"
    limits = {text.get_text(): text.xy for text in comparison.plot_window().texts if isinstance(text, Annotation)}
    assert set(limits) == {"BDP", "BDP + queue"} and {x for x, _ in limits.values()} == {1.0}


def test_it_draws_where_it_is_told(comparison: ff.Comparison, tested: ff.AbResult) -> None:
    _, axes = plt.subplots(1, 2)
    assert comparison.plot_pareto(ax=axes[0]) is axes[0]
    assert tested.plot_pareto(ax=axes[1]) is axes[1]


def test_reductions_have_every_part(tested: ff.AbResult) -> None:
    ax = tested.plot_ttlb_reduction()
    groups = [label.get_text().split(" (")[0] for label in ax.get_yticklabels()]
    assert groups == ["all", *dict.fromkeys(row["name"] for row in tested.part("group"))]
    for by in ("all", "size", "bdp", "buffer", "group_size", "percentile"):
        assert "against slowstart" in tested.plot_ttlb_reduction(by=by).get_title(loc="left")


def test_reductions_of_a_comparison_are_paired(comparison: ff.Comparison) -> None:
    ax = comparison.plot_ttlb_reduction(baseline="hystart")
    assert [label.get_text() for label in ax.get_yticklabels()] == [arm for arm in comparison.arms if arm != "hystart"]
    with pytest.raises(ff.Refused, match="baseline `best`"):
        comparison.plot_ttlb_reduction(baseline="best")


def test_the_front_is_filled(tested: ff.AbResult) -> None:
    ax = tested.plot_pareto()
    front = {row["arm"] for row in tested.part("all") if row["front"]}
    legend = ax.get_legend()
    assert legend is not None and [text.get_text() for text in legend.get_texts()] == tested.arms and front


def test_an_arm_has_one_colour_in_every_plot(comparison: ff.Comparison, tested: ff.AbResult) -> None:
    window = {str(line.get_label()): line.get_color() for line in comparison.plot_window().get_lines()}
    for result in (comparison, tested):
        ax = result.plot_pareto()
        for container in ax.containers:
            arm = str(container.get_label())
            if arm in window:
                assert isinstance(container, ErrorbarContainer)
                assert container.lines[0].get_color() == window[arm], arm
    ax = tested.plot_pareto()
    assert "completion time" in ax.get_xlabel() and "loss" in ax.get_ylabel()


def test_a_front_has_the_axes_of_the_report_and_does_not_blow_up_nothing(tested: ff.AbResult) -> None:
    ax = tested.plot_pareto()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean completion time, ms", "mean loss, %")
    same = ff.compare("rapid-slide,queue=4bdp", "slowstart,slowstart@(iw=11)", bytes="30kB").plot_pareto()
    low, high = same.get_xlim()
    assert high - low >= 0.05 * low, "two arms that do the same stand close together"
    same.figure.canvas.draw()
    labels = [label.get_text() for label in [*same.get_xticklabels(), *same.get_yticklabels()]]
    assert labels and all(len(label) <= 7 for label in labels), f"no more digits than matter: {labels}"
