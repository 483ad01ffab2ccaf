"""Fill-drain schedule: all forwards of a batch, then all backwards in reverse order."""
import torch

from p2p import recv_tensor, send_tensor
from stages import lm_loss


def split(batch, n):
    return list(batch.chunk(n))


class FillDrain:
    def __init__(self, stage, index, count, micro_batches):
        self.stage = stage
        self.prev = index - 1
        self.next = index + 1
        self.count = count
        self.micro_batches = micro_batches

    def run(self, tokens, targets):
        """One optimizer step's worth of work; returns the mean loss on the last stage."""
        if self.stage.first:
            feeds = split(tokens, self.micro_batches)
            pairs = [(None, self._emit(feed)) for feed in feeds]
        else:
            pairs = []
            for _ in range(self.micro_batches):
                x = recv_tensor(self.prev).requires_grad_()
                pairs.append((x, self._emit(x)))

        total = 0.0
        if self.stage.last:
            rows = targets.size(0)
            start, losses = 0, []
            for _, out in pairs:
                stop = start + out.size(0)
                losses.append(lm_loss(out, targets[start:stop]) * (out.size(0) / rows))
                start = stop
            pairs = [(x, loss) for (x, _), loss in zip(pairs, losses)]
            total = sum(loss.item() for loss in losses)

        for x, out in reversed(pairs):
            out.backward(None if self.stage.last else recv_tensor(self.next))
            if not self.stage.first:
                send_tensor(x.grad, self.prev)
        return total

    def _emit(self, x):
        out = self.stage(x)
        if not self.stage.last:
            send_tensor(out, self.next)
        return out
