"""Model values encoded to JSON and decoded again, whatever they contain."""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ddpdoctor.model
from ddpdoctor.meeting.messages import Call, Digest
from ddpdoctor.model import codec
from ddpdoctor.model.dependence import Dependence
from ddpdoctor.model.diagnosis import Location
from ddpdoctor.model.evidence import Evidence, Gap
from ddpdoctor.model.progress import Raised
from ddpdoctor.model.recorder_set import RecorderSet
from ddpdoctor.model.report import Report, StackNode
from ddpdoctor.model.stacks import Site
from ddpdoctor.model.torch_internals import Message
from tests.golden.reports import REPORTS
from tests.property.values import content, types_in, values

#: a table of what torch prints, which holds patterns: no value of it is ever written
NEVER_WRITTEN = {Message}
KINDS = sorted({*types_in(ddpdoctor.model), Call, Digest} - NEVER_WRITTEN, key=lambda kind: kind.__qualname__)


def test_every_type_of_the_model_is_among_them() -> None:
    assert {Evidence, Report, Dependence, RecorderSet, StackNode, Raised} <= set(KINDS)
    assert len(KINDS) > 60


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_is_encoded_decodes_to_the_same(kind: type[Any], data: st.DataObject) -> None:
    value = data.draw(values(kind))
    decoded = codec.decode(kind, json.loads(json.dumps(codec.encode(value))))
    assert content(decoded) == content(value)


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
