"""Records behave like the standard library's dataclasses in everything that lint needs."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from ddpdoctor.model.record import field, record, replace


@record(frozen=True, slots=True)
class Place:
    file: str
    line: int = 1
    note: str = field(default="", compare=False)

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line}"


@record(eq=False, slots=True)
class Bag:
    #: a list of its own for each
    things: list[int] = field(default_factory=list)
    name: str = "bag"


@record(slots=True)
class Pair:
    left: int
    right: int


def test_fields_defaults_and_properties() -> None:
    place = Place("a.py", note="x")
    assert (place.file, place.line, place.note, place.shown) == ("a.py", 1, "x", "a.py:1")
    assert Place("a.py", 2).line == Place(file="a.py", line=2).line == 2
    with pytest.raises(TypeError):
        Place()  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        place.other = 1  # type: ignore[attr-defined]


def test_equal_by_the_fields_that_are_compared() -> None:
    assert Place("a", 1, "x") == Place("a", 1, "y")
    assert hash(Place("a", 1, "x")) == hash(Place("a", 1, "y"))
    assert Place("a") != Place("b")
    assert Place("a") != object()
    assert Pair(1, 2) == Pair(1, 2) != Pair(2, 1)
    with pytest.raises(TypeError):
        hash(Pair(1, 2))


def test_without_equality_each_is_itself() -> None:
    one, two = Bag(), Bag()
    assert one != two
    assert len({one, two}) == 2
    one.things.append(1)
    assert two.things == []


def test_copies_and_pickles() -> None:
    place = Place("a", 3, "x")
    assert replace(place, line=4) == Place("a", 4)
    copied = pickle.loads(pickle.dumps(place))
    assert (copied, copied.note) == (place, "x")
    assert repr(place) == "Place(file='a', line=3, note='x')"


def test_is_what_a_dataclass_would_be() -> None:
    def fields(of: type) -> dict[str, object]:
        return {name: value for name, value in vars(of).items() if not name.startswith("__") and name != "_fields"}

    @dataclasses.dataclass(frozen=True, slots=True)
    class Standard:
        file: str
        line: int = 1

    @record(frozen=True, slots=True)
    class Ours:
        file: str
        line: int = 1

    assert fields(Standard).keys() == fields(Ours).keys()
    assert repr(Ours("a")).rpartition(".")[2] == repr(Standard("a")).rpartition(".")[2].replace("Standard", "Ours")
