"""Per-species recall, because accuracy hides the rare pests."""
from collections import Counter

from data import SPECIES


class SpeciesRecall:
    def __init__(self):
        self.reset()

    def reset(self):
        self.hits, self.seen = Counter(), Counter()

    def update(self, predicted, truth):
        for p, t in zip(predicted.tolist(), truth.tolist()):
            self.seen[t] += 1
            self.hits[t] += int(p == t)

    def table(self):
        """{"recall/aphid": 0.81, ...} in the order of SPECIES."""
        result = {}
        for number, name in enumerate(SPECIES):
            if self.seen[number]:
                result[f"recall/{name}"] = self.hits[number] / self.seen[number]
        return result
