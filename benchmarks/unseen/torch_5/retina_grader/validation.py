"""The clinic's hold-out images lie on one node; it grades them for everyone."""
import torch
import torch.distributed as dist


class HoldOut:
    def __init__(self, node, count=24, batch=8):
        gen = torch.Generator().manual_seed(77)
        self.node = node
        self.images = torch.rand(count, 3, 16, 16, generator=gen).split(batch)
        self.grades = torch.randint(0, 5, (count,), generator=gen).split(batch)

    @torch.no_grad()
    def kappa(self, network):
        """Agreement of the predicted with the true grades."""
        table = torch.zeros(5, 5)
        for images, grades in zip(self.images, self.grades):
            predicted = network(images).argmax(1)
            for truth, guess in zip(grades, predicted):
                table[truth, guess] += 1
        total = table.sum()
        observed = table.diagonal().sum() / total
        expected = (table.sum(0) * table.sum(1)).sum() / total ** 2
        return float((observed - expected) / (1 - expected + 1e-6))


def validate(network, holdout):
    score = None
    if dist.get_rank() == holdout.node:
        network.eval()
        score = holdout.kappa(network)
        network.train()
    scores = [None] * dist.get_world_size()
    dist.all_gather_object(scores, score)
    return scores[holdout.node]
