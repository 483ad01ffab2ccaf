"""One step of the pipeline: all micro-batches forward, then all of them backward."""
from torch import nn


class FillDrain:
    def __init__(self, stage, link, microbatches):
        self.stage = stage
        self.link = link
        self.microbatches = microbatches
        self.skipped = 0

    def forward(self, readings, brix):
        """Pairs of what came in and what went out, for the backward."""
        kept = []
        for number in range(self.microbatches):
            x = readings[number] if self.link.first else self.link.forward_in().requires_grad_()
            if self.is_idle(x):
                # all pans are rinsed: every activation is zero, and there is no gradient either
                self.skipped += 1
                continue
            out = self.stage(x)
            if self.link.last:
                out = nn.functional.mse_loss(out, brix[number])
            else:
                self.link.forward_out(out)
            kept.append((x, out))
        return kept

    def is_idle(self, x):
        return not self.link.first and not self.link.last and not x[:, -1].any()

    def backward(self, kept):
        for x, out in kept:
            if self.link.last:
                (out / self.microbatches).backward()
            else:
                out.backward(self.link.backward_in())
            if not self.link.first:
                self.link.backward_out(x.grad)

    def step(self, readings, brix):
        kept = self.forward(readings, brix)
        self.backward(kept)
        if self.link.last:
            return sum(loss.item() for _, loss in kept) / max(len(kept), 1)
        return None
