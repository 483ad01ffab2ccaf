from __future__ import annotations

import contextlib
from typing import Iterator

from lightning.fabric import Fabric


class TokenAccumulation:
    """Collects micro-batches until an optimizer step has seen `target` tokens."""

    def __init__(self, fabric: Fabric, model, optimizer, target: int) -> None:
        self.fabric, self.model, self.optimizer = fabric, model, optimizer
        self.target = target
        self.tokens = 0
        self.updates = 0

    @property
    def full(self) -> bool:
        return self.tokens >= self.target

    @contextlib.contextmanager
    def micro_batch(self, tokens: int) -> Iterator[None]:
        self.tokens += tokens
        with self.fabric.no_backward_sync(self.model, enabled=not self.full):
            yield
        if self.full:
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.updates += 1
            self.tokens = 0
