"""Accumulation until a step has seen enough segments."""

import contextlib


class SegmentBudget:
    """Collects micro-batches up to a number of segments, so that steps weigh the same however long fibres are.

    Only the micro-batch that fills the budget communicates.
    """

    def __init__(self, model, optimizer, budget):
        self.model, self.optimizer, self.budget = model, optimizer, budget
        self.held, self.micro, self.steps = 0, 0, 0

    def fills(self, fibres):
        return self.held + fibres.shape[0] * fibres.shape[1] >= self.budget

    @contextlib.contextmanager
    def micro_batch(self, fibres):
        full = self.fills(fibres)
        self.held += fibres.shape[0] * fibres.shape[1]
        self.micro += 1
        with contextlib.nullcontext() if full else self.model.no_sync():
            yield
        if full:
            self.apply()

    def apply(self):
        for parameter in self.model.parameters():
            parameter.grad.div_(self.micro)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.held, self.micro = 0, 0
        self.steps += 1
