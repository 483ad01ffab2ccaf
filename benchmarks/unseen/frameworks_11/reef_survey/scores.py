import torch


class SpeciesScores:
    """Recall of every species, counted while a validation runs."""

    def __init__(self, species):
        self.species = species
        self.counts = {}

    def add(self, guess, label):
        for number in label.unique().tolist():
            here = label == number
            right = (guess[here] == number).sum()
            count = self.counts.setdefault(self.species[number], torch.zeros(2))
            count += torch.stack([right, here.sum()]).float()

    def across(self, accelerator):
        """The recall over the photographs of all workers, by name."""
        recall = {}
        for name in sorted(self.counts):
            right, total = accelerator.reduce(self.counts[name], reduction="sum").tolist()
            recall[name] = right / total
        return recall
