"""Named tuples behave like the standard library's in everything that is used of them."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddpdoctor.model.named_tuple import NamedTuple


class Place(NamedTuple):
    """A line, and what is on it."""

    line: int
    names: tuple[str, ...] = ()
    text: str | None = None

    @property
    def after(self) -> int:
        return self.line + 1

    def shown(self) -> str:
        return f"{self.line}: {', '.join(self.names)}"


class Standard(typing.NamedTuple):
    line: int
    names: tuple[str, ...] = ()
    text: str | None = None


_NAMES = st.lists(st.text(max_size=3), max_size=3).map(tuple)


@given(st.integers(), _NAMES, st.none() | st.text(max_size=5))
def test_is_what_a_standard_one_would_be(line: int, names: tuple[str, ...], text: str | None) -> None:
    ours, standard = Place(line, names, text=text), Standard(line, names, text=text)
    assert tuple(ours) == tuple(standard) == (line, names, text)
    assert ours == (line, names, text)
    assert hash(ours) == hash(standard)
    assert repr(ours) == repr(standard).replace("Standard", "Place")
    assert ours._asdict() == standard._asdict()
    assert tuple(ours._replace(line=3)) == tuple(standard._replace(line=3))
    assert Place._make([line, names, text]) == ours
    assert pickle.loads(pickle.dumps(ours)) == copy.copy(ours) == ours
    assert type(pickle.loads(pickle.dumps(ours))) is Place


def test_fields_defaults_and_methods() -> None:
    one = Place(7)
    assert (one.line, one.names, one.text, one.after) == (7, (), None, 8)
    assert Place(line=7, names=("a", "b")).shown() == "7: a, b"
    assert Place._fields == Standard._fields
    assert Place._field_defaults == Standard._field_defaults
    assert Place.__doc__ == "A line, and what is on it."
    match one:
        case Place(line, text=None):
            assert line == 7
        case _:
            pytest.fail("its fields are not those of a pattern")


@pytest.mark.parametrize(
    ("given_", "named"),
    [((), {}), ((1, (), None, 4), {}), ((1,), {"line": 2}), ((1,), {"other": 2})],
)
def test_what_does_not_fit_is_refused_and_what_follows_is_not(
    given_: tuple[object, ...], named: dict[str, object]
) -> None:
    class Fresh(NamedTuple):
        line: int
        names: tuple[str, ...] = ()
        text: str | None = None

    for _ in range(2):  # the first time its constructor is made
        with pytest.raises(TypeError):
            Fresh(*given_, **named)  # type: ignore[arg-type]
    assert Fresh(5) == (5, (), None)


def test_copies_with_other_values_are_checked() -> None:
    with pytest.raises(ValueError, match="other"):
        Place(1)._replace(other=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Place._make([1])


def test_no_attribute_can_be_written() -> None:
    with pytest.raises(AttributeError):
        Place(1).line = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Place(1).other = 2  # type: ignore[attr-defined]
