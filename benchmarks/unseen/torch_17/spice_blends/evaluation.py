"""Confusion of the blends in one month, over all processes."""
import torch
import torch.distributed as dist


class Confusion:
    def __init__(self, classes):
        self.classes = classes
        self.pairs = []

    def add(self, truth, guess):
        self.pairs.append(truth * self.classes + guess)

    def counts(self):
        """Number of samples for each pair of a true and a guessed class."""
        return torch.bincount(torch.cat(self.pairs))

    def reduce(self):
        counts = self.counts()
        dist.all_reduce(counts)
        full = torch.zeros(self.classes * self.classes, dtype=counts.dtype)
        full[: len(counts)] = counts
        return full.view(self.classes, self.classes)


class Evaluator:
    def __init__(self, model, shop, classes):
        self.model = model
        self.shop = shop
        self.classes = classes

    @torch.no_grad()
    def month(self, number):
        self.model.eval()
        confusion = Confusion(self.classes)
        for x, truth in self.shop.sold(number):
            confusion.add(truth, self.model(x).argmax(1))
        self.model.train()
        matrix = confusion.reduce()
        return {
            "accuracy": matrix.diagonal().sum().item() / matrix.sum().item(),
            "recall": (matrix.diagonal() / matrix.sum(1).clamp(min=1)).tolist(),
        }
