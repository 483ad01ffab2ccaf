"""Scores on the held-out records of all mews."""

import torch


class Scoreboard:
    """Runs the measures of a season. Small sets come first, so that a broken model shows soon."""

    def __init__(self, fabric):
        self.fabric = fabric
        self.measures = {"moult": self.stage_accuracy, "mass": self.worst_mass_error}

    @torch.no_grad()
    def score(self, model, loaders):
        model.eval()
        scores = {}
        for name, loader in sorted(loaders.items(), key=lambda entry: len(entry[1].dataset)):
            scores[name] = self.measures[name](model, loader)
        model.train()
        return scores

    def stage_accuracy(self, model, loader):
        counts = torch.zeros(2)
        for traits, stage in loader:
            logits, _ = model(traits)
            counts += torch.tensor([(logits.argmax(-1) == stage).sum(), len(stage)])
        counts = self.fabric.all_reduce(counts, reduce_op="sum")
        return (counts[0] / counts[1]).item()

    def worst_mass_error(self, model, loader):
        """The mean error of the mews on which the model is worst."""
        errors = []
        for traits, mass in loader:
            _, found = model(traits)
            errors.append((found - mass).abs())
        every_mews = self.fabric.all_gather(torch.cat(errors).mean())
        return every_mews.max().item()
