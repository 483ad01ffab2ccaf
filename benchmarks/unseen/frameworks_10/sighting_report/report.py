from dataclasses import dataclass, field

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object


@dataclass
class SightingReport:
    """The calls of the rare species that were found in an epoch, over all processes."""

    accelerator: Accelerator
    species: int
    found: list = field(default_factory=list)

    def add(self, ids: torch.Tensor, labels: torch.Tensor, scores: torch.Tensor) -> None:
        for clip, label, score in zip(ids.tolist(), labels.tolist(), scores[:, self.species].tolist()):
            if label == self.species:
                self.found.append({"clip": clip, "score": round(score, 3)})

    def publish(self, epoch: int) -> list:
        if not self.found:
            return []
        everything = gather_object(self.found)
        everything.sort(key=lambda sighting: -sighting["score"])
        self.accelerator.print(f"epoch {epoch}: {len(everything)} sightings, best {everything[0]}")
        self.found = []
        return everything
