"""What is wrong is said in the words of the command, as an exception that is a ValueError."""

from collections.abc import Callable
from typing import Any

import pytest
from conftest import command

import firstflight as ff

REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"arms": "rapdi"}, ["--arms", "rapdi"]),
    ({"arms": ["rapid(jmp=off)"]}, ["--arms", "rapid(jmp=off)"]),
    ({"path": "geoo"}, ["--path", "geoo"]),
    ({"path": "rate=20Mbit"}, ["--path", "rate=20Mbit"]),
    ({"bytes": "10 bananas"}, ["--bytes", "10 bananas"]),
    ({"bytes": 0}, ["--bytes", "0B"]),
    ({"seed": -1}, ["--seed", "-1"]),
    ({"repeat": 0}, ["--repeat", "0"]),
    ({"iw": 1001}, ["--iw", "1001"]),
    ({"limit": "x"}, ["--limit", "x"]),
    ({"detection": "rack"}, ["--detection", "rack"]),
    ({"transport": "sctp"}, ["--transport", "sctp"]),
    ({"on": "quick"}, ["--on", "quick"]),
    ({"real": True}, ["--real"]),
    ({"flows": 0}, ["--flows", "0"]),
    ({"apart": 5}, ["--apart", "5"]),
    ({"app": "web"}, ["--app", "web"]),
    ({"transport": "tcp", "detection": "rak"}, ["--transport", "tcp", "--detection", "rak"]),
    ({"path": "rate=1kbit,rtt=100s,queue=1bdp", "limit": 1}, ["--path", "rate=1kbit,rtt=100s,queue=1bdp", "--limit", "1"]),
]


@pytest.mark.parametrize(("given", "words"), REFUSED, ids=[" ".join(words) for _, words in REFUSED])
def test_a_refusal_is_the_sentence_of_the_command(binary: str, given: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ff.Refused) as refused:
        ff.compare(**given)
    said = command(binary, "compare", *words, code=2).removeprefix("firstflight: ").strip()
    # An option is a keyword here: it has no dashes in front, and its value may be a Python string.
    ours = str(refused.value)
    plain = said.removeprefix("--")
    assert ours == plain, f"Python says `{ours}`, the command `{said}`"
    assert isinstance(refused.value, ValueError) and "\n" not in ours


def test_other_refusals_are_one_line_too() -> None:
    tries: list[Callable[[], object]] = [
        lambda: ff.ab("cdnn"),
        lambda: ff.ab("cdn", "slowstart"),
        lambda: ff.ab("cdn", flows=0),
        lambda: ff.ab("cdn", baseline="slowstart,rapid"),
        lambda: ff.ab("cdn", limit=3601),
        lambda: ff.ab("cdn(q=x)"),
        lambda: ff.ab("cdn", flows=100, resume="/no/such/folder"),
        lambda: ff.compare(on="quick"),
        lambda: ff.compare(on="quic", transport="tcp"),
        lambda: ff.compare(transport="sctp"),
        lambda: ff.compare(threads=0),
        lambda: ff.reproduce("hystrat++"),
        lambda: ff.Arm("rapid").recovering("prrr"),
        lambda: ff.Arm("rapid,best"),
        lambda: ff.Path(rate="1Mbit"),
        lambda: ff.Population.measured({"rtt_ms": [1]}),
        lambda: ff.Population("cdn").draw(-1),
        lambda: ff.paths().column("nme"),
    ]
    for number, attempt in enumerate(tries):
        with pytest.raises(ff.Refused) as refused:
            attempt()
        assert str(refused.value) and "\n" not in str(refused.value), f"attempt {number}"


def test_what_is_no_arm_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="an arm is a text or a subclass"):
        ff.compare(arms=[int])  # type: ignore[list-item]
