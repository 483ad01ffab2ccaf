"""Model values encoded to JSON and decoded again, whatever they contain."""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddpdoctor.model import codec
from ddpdoctor.model.diagnosis import Diagnosis, Location
from ddpdoctor.model.evidence import Gap, SourceFile
from ddpdoctor.model.processes import Exit, ProcessState
from ddpdoctor.model.progress import Page, Raised
from ddpdoctor.model.ranks import RankSet, Worker
from ddpdoctor.model.report import Report, StackNode
from ddpdoctor.model.stacks import Site, Stacks
from tests.golden.reports import REPORTS

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
for _leaf, _strategy in {
    str: TEXT,
    float: st.floats(allow_nan=False, allow_infinity=False),
    RankSet: st.frozensets(st.integers(0, 9)).map(RankSet.of),
    StackNode: st.builds(StackNode, st.builds(Site, TEXT, st.integers(1), TEXT), st.just(RankSet.of([1])), st.just(())),
}.items():
    st.register_type_strategy(_leaf, _strategy)
# an exception may have others before it, and these again: a page with several would be more than Hypothesis draws
_ALONE = st.builds(Raised, before=st.just(()))
st.register_type_strategy(Raised, st.builds(Raised, before=st.lists(_ALONE, max_size=1).map(tuple)))

KINDS: list[type[Any]] = [Diagnosis, Exit, Gap, Page, ProcessState, Report, SourceFile, Stacks, Worker]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_is_encoded_decodes_to_the_same(kind: type[Any], data: st.DataObject) -> None:
    value = data.draw(st.from_type(kind))
    assert codec.decode(kind, json.loads(json.dumps(codec.encode(value)))) == value


@pytest.mark.parametrize("name", REPORTS)
def test_a_whole_report_survives(name: str) -> None:
    assert codec.decode(Report, json.loads(json.dumps(codec.encode(REPORTS[name])))) == REPORTS[name]


def test_keys_that_are_not_known_are_ignored() -> None:
    assert codec.decode(Site, {"file": "a.py", "line": 3, "function": "f", "column": 7}) == Site("a.py", 3, "f")


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (Site, {"file": "a.py", "line": "3", "function": "f"}, "$.line: expected int, found str"),
        (Site, {"file": "a.py", "line": True, "function": "f"}, "$.line: expected int, found bool"),
        (Site, {"file": "a.py", "function": "f"}, "$: Site has no 'line'"),
        (Location, {"ranks": 3, "file": "", "line": 1, "function": ""}, "$.ranks: expected list, found int"),
        (Gap, {"source": "dreams", "rank": None, "reason": ""}, "$.source: 'dreams' is not a Source"),
        (Site, [], "$: expected dict, found list"),
    ],
)
def test_the_fault_is_named_with_its_path(kind: type[Any], value: Any, path: str) -> None:
    with pytest.raises(codec.DecodeError) as caught:
        codec.decode(kind, value)
    assert str(caught.value) == path


def test_an_integer_is_a_float_and_a_bool_is_not_a_number() -> None:
    @dataclass(frozen=True)
    class Timed:
        seconds: float

    assert codec.decode(Timed, {"seconds": 3}).seconds == 3.0
    with pytest.raises(codec.DecodeError):
        codec.decode(Timed, {"seconds": False})


def test_every_field_of_the_report_has_a_type_that_the_codec_knows() -> None:
    hints = typing.get_type_hints(Report)
    assert set(codec.encode(REPORTS["healthy"])) == set(hints)
