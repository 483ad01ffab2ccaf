"""Values as conditions."""

from __future__ import annotations

from ddpdoctor.lint.values.abstract_objects import External, Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.truths import (
    both,
    invert,
    mask_where,
    negate,
    rank_decided,
    rank_local,
    surely_true,
    truth,
)
from ddpdoctor.lint.values.values import (
    EVERY_RANK,
    FIRST_RANK,
    RANK_NUMBERS,
    Symbol,
    Taint,
    Value,
    const,
    of_object,
    unknown,
)
from ddpdoctor.program.sites import SourceSite

SITE = SourceSite("/job/main.py", 1, 1, 1, 2)
SOME = unknown("some")
OTHER = unknown("other")
LOCAL = unknown("loss", taint=Taint.RANK_LOCAL)


def test_constants_are_true_or_false_as_in_python() -> None:
    assert truth(const("")) == (False,)
    assert truth(const("0")) == (True,)
    assert truth(RANK_NUMBERS) == (False, True, True, True)


def test_an_unknown_is_its_own_truth() -> None:
    assert truth(SOME) == SOME.atoms


def test_an_object_is_true_where_it_surely_is_one() -> None:
    model = of_object(Made("torch.nn.Linear", SITE))
    assert truth(model) == (True,)
    assert not surely_true(model.tagged(Tag.MAYBE))
    assert truth(of_object(Made("torch.load", SITE))) != (True,), "a function may give anything"
    assert truth(of_object(External("settings.debug"))) != (True,), "what is imported may be a flag"


def test_an_object_on_some_ranks_is_true_there() -> None:
    writer = Made("tensorboard.SummaryWriter", SITE)
    some = Symbol(5, Taint.UNKNOWN)
    value = Value((some, None, None, None), Taint.RANK, writer, Tag.MAYBE)
    assert truth(value) == (True, False, False, False)


def test_negation() -> None:
    assert negate(FIRST_RANK).atoms == (False, True, True, True)
    assert negate(SOME).atoms[0] == SOME.atoms[0]._replace(negated=True)
    assert invert(invert(SOME.atoms[0])) == SOME.atoms[0]


def test_what_one_side_decides_needs_not_be_known_on_the_other() -> None:
    assert both(SOME, const(False), conjunction=True).atoms == (False,)
    assert both(const(True), SOME, conjunction=False).atoms == (True,)
    assert both(SOME, FIRST_RANK, conjunction=True).atoms == (SOME.atoms[0], False, False, False)


def test_two_unknowns_are_one_unknown_made_of_both() -> None:
    made = both(SOME, OTHER, conjunction=True)
    assert made == both(SOME, OTHER, conjunction=True)
    assert made.atoms[0].parts == ("and", SOME.atoms[0], OTHER.atoms[0])
    assert made.atoms[0].key != both(SOME, OTHER, conjunction=False).atoms[0].key
    assert both(SOME, SOME, conjunction=True).atoms == SOME.atoms


def test_a_conjunction_is_as_tainted_as_its_worse_side() -> None:
    assert both(SOME, LOCAL, conjunction=True).taint is Taint.RANK_LOCAL


def test_parts_are_not_kept_without_end() -> None:
    value = SOME
    for n in range(50):
        value = both(value, unknown(n), conjunction=n % 2 == 0)
    assert len(repr(value)) < 5_000


def test_ranks_are_split_by_what_they_know() -> None:
    assert mask_where(truth(FIRST_RANK), EVERY_RANK) == (0b0001, 0b1110)
    assert mask_where(truth(FIRST_RANK), 0b0110) == (0, 0b0110)
    assert mask_where((True,), 0b0110) == (0b0110, 0)
    assert mask_where(SOME.atoms, 0b0110) == (0b0110, 0b0110)
    assert mask_where((True, *SOME.atoms * 3), EVERY_RANK) == (EVERY_RANK, 0b1110)


def test_a_branch_on_the_rank_is_one_whose_sides_are_known_and_differ() -> None:
    assert rank_decided(truth(FIRST_RANK))
    assert rank_decided((True, *SOME.atoms * 3))
    assert not rank_decided((True,))
    assert not rank_decided(SOME.atoms)
    assert not rank_decided(tuple(unknown(n).atoms[0] for n in range(4)))


def test_a_branch_on_data_is_one_on_an_unknown_of_each_rank() -> None:
    assert rank_local(LOCAL.atoms)
    assert rank_local(unknown("there?", taint=Taint.FILES).atoms)
    assert rank_local(tuple(unknown(n).atoms[0] for n in range(4)))
    assert not rank_local(SOME.atoms)
    assert not rank_local(truth(FIRST_RANK))
    assert not rank_local((True,))
