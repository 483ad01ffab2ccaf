"""Of a sampler for several processes and one for a single process, the former."""

from __future__ import annotations

from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.values import loader_join
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Value, const, of_object, unknown
from ddpdoctor.program.sites import SourceSite


def made(path: str, line: int, **keywords: Value) -> Value:
    return of_object(Made(path, SourceSite("/job/main.py", line, 1, line, 2), (), tuple(keywords.items())), path, line)


SHARED = made(aliases.SAMPLER, 1)
PLAIN = made("torch.utils.data.RandomSampler", 2)


def test_the_sampler_that_shares_out_stays() -> None:
    assert loader_join.shared(SHARED, PLAIN) == loader_join.shared(PLAIN, SHARED) == SHARED.tagged(Tag.MAYBE)
    assert loader_join.shared(PLAIN, unknown("sampler")) is None


def test_the_loader_with_that_sampler_stays() -> None:
    one, two = made(aliases.LOADER, 3, sampler=SHARED), made(aliases.LOADER, 4, sampler=PLAIN)
    assert loader_join.shared(two, one) == one.tagged(Tag.MAYBE)
    assert loader_join.shared(two, made(aliases.LOADER, 5, sampler=PLAIN)) == two


def test_of_two_that_go_through_their_data_in_the_same_way_one_stays() -> None:
    other = made(aliases.SAMPLER, 3)
    assert loader_join.shared(SHARED, other) == SHARED
    assert loader_join.shared(SHARED, made(aliases.SAMPLER, 4, shuffle=const(False))) is None
    one, two = made(aliases.LOADER, 5, sampler=SHARED), made(aliases.LOADER, 6, sampler=other)
    assert loader_join.shared(one, two) == one
    assert loader_join.shared(one, made(aliases.LOADER, 7, sampler=other, drop_last=const(True))) is None


def test_a_sampler_inside_a_batch_sampler_is_the_loaders() -> None:
    batches = made("torch.utils.data.BatchSampler", 5, sampler=SHARED)
    loader = loader_join.made_of(made(aliases.LOADER, 6, batch_sampler=batches))
    assert loader is not None
    assert loader_join.given_sampler(loader) == SHARED
