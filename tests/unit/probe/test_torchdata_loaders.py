"""What is counted of torchdata's own Loader, which other frameworks' tests have in their environment."""

from __future__ import annotations

from typing import Any

import pytest

from ddpdoctor.probe import calls, torchdata_loaders, training

pytestmark = pytest.mark.frameworks


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is counted from now on, with the hooks in place until the end of the test."""
    module = pytest.importorskip(torchdata_loaders.MODULE)
    monkeypatch.setattr(module.Loader, "__iter__", module.Loader.__iter__)
    monkeypatch.setattr(module.LoaderIterator, "__next__", module.LoaderIterator.__next__, raising=False)
    found: list[str] = []
    monkeypatch.setattr(training, "_count_batch", lambda _, column, *__: found.append({1: "batch", 2: "end"}[column]))
    monkeypatch.setattr(training, "_count_iterator", lambda *_: found.append("made"))
    calls.prepare()
    torchdata_loaders._patch(module)
    return found


def loader_of(*items: int) -> Any:
    nodes = pytest.importorskip("torchdata.nodes")
    return nodes.Loader(nodes.IterableWrapper(items))


def test_each_epoch_is_counted_once(counted: list[str]) -> None:
    loader = loader_of(1, 2)
    assert [*loader, *loader] == [1, 2, 1, 2]
    assert counted == ["made", "batch", "batch", "end"] * 2


def test_a_state_that_is_asked_for_early_begins_no_epoch(counted: list[str]) -> None:
    loader = loader_of(1, 2)
    loader.state_dict()
    assert counted == []
    assert list(loader) == [1, 2]
    assert counted == ["made", "batch", "batch", "end"]


def test_the_item_that_a_resumed_loader_looks_ahead_is_counted_once(counted: list[str]) -> None:
    begun, resumed = loader_of(1, 2, 3), loader_of(1, 2, 3)
    next(iter(begun))
    resumed.load_state_dict(begun.state_dict())
    counted.clear()
    assert list(resumed) == [2, 3]
    assert counted == ["made", "batch", "batch", "end"]
