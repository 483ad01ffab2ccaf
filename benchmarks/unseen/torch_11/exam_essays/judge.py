import time

import torch


class EssayJudge:
    """Scores a model on whole essays, sentence by sentence, the way the exam board does. Takes its time."""

    def __init__(self, essays, sentences, width, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.essays = torch.randn(essays, sentences, width, generator=g)
        self.marks = self.essays.mean(dim=(1, 2)) * 4

    @torch.no_grad()
    def score(self, model):
        differences = []
        for essay, mark in zip(self.essays, self.marks):
            total = 0.0
            for sentence in essay:
                total += model(sentence.unsqueeze(0)).item()
                time.sleep(0.004)
            differences.append(abs(total / len(essay) - mark.item()))
        return sum(differences) / len(differences)
