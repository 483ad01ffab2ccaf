import logging

import torch

log = logging.getLogger(__name__)

CLAUSES = ("liability", "term", "payment", "notice", "law")


class MalformedClause(ValueError):
    pass


def encode(contract: dict) -> tuple[torch.Tensor, int]:
    """Counts of letter pairs in the text, and the number of the clause."""
    if contract["clause"] not in CLAUSES:
        raise MalformedClause(f"{contract['id']}: clause {contract['clause']!r}")
    counts = torch.zeros(256)
    text = contract["text"]
    for a, b in zip(text, text[1:]):
        counts[(ord(a) * 31 + ord(b)) % 256] += 1
    return counts / max(len(text), 1), CLAUSES.index(contract["clause"])


class Learner:
    """One optimizer step on a batch of raw contracts."""

    def __init__(self, fabric, model, optimizer):
        self.fabric = fabric
        self.model = model
        self.optimizer = optimizer
        self.steps = 0

    def learn(self, contracts: list[dict]) -> float | None:
        try:
            encoded = [encode(contract) for contract in contracts]
            x = torch.stack([counts for counts, _ in encoded])
            y = torch.tensor([clause for _, clause in encoded])
            loss = torch.nn.functional.cross_entropy(self.model(x), y)
            self.fabric.backward(loss)
            self.fabric.clip_gradients(self.model, self.optimizer, max_norm=1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
        except MalformedClause as error:
            log.warning("batch left out: %s", error)
            return None
        self.steps += 1
        return loss.item()
