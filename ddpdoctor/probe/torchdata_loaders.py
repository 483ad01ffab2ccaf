"""Batches of torchdata's own Loader, which goes over a graph of nodes without torch's DataLoader.

Its StatefulDataLoader is one of torch's. A Loader that resumes looks one item ahead (`has_next`, torchdata 0.11), which
is delivered later, and counted then; one whose state is asked for early makes the iterator that the loop will get.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from . import deferred_patches, training

MODULE = "torchdata.nodes.loader"


def install() -> None:
    deferred_patches.when_imported(MODULE, _patch)


def _patch(module: ModuleType) -> None:
    loader: Any = module.__dict__["Loader"]
    iterator: Any = module.__dict__["LoaderIterator"]
    loader.__iter__ = training.loader_iter(loader.__iter__, uncounted=loader.state_dict.__code__)
    iterator.__next__ = training.loader_next(iterator.__next__, uncounted=iterator.has_next.__code__)
