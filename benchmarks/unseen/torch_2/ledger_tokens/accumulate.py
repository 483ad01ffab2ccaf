from dataclasses import dataclass


@dataclass
class TokenWindow:
    """Accumulates micro-batches until an optimizer step covers about `limit` tokens."""

    limit: int
    tokens: int = 0
    windows: int = 0

    def push(self, batch) -> bool:
        self.tokens += batch.numel()
        if self.tokens < self.limit:
            return False
        self.tokens = 0
        self.windows += 1
        return True


class AccumulatingEngine:
    """DeepSpeed engine whose accumulation boundary is set by a token window."""

    def __init__(self, engine, limit):
        self.engine = engine
        self.window = TokenWindow(limit)

    def micro_step(self, tokens, labels):
        self.engine.set_gradient_accumulation_boundary(self.window.push(tokens))
        loss = self.engine(tokens, labels)
        self.engine.backward(loss)
        self.engine.step()
        return loss.detach()
