from collections.abc import Iterator

import torch
from torchdata.nodes import Batcher, IterableWrapper, Loader, Mapper, MultiNodeWeightedSampler, Prefetcher, StopCriteria


class Shard:
    """Every world-size-th record of a corpus, starting with the rank's."""

    def __init__(self, features: torch.Tensor, labels: torch.Tensor, rank: int, world: int):
        self.features = features[rank::world]
        self.labels = labels[rank::world]

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        yield from zip(self.features, self.labels)


def stacked(rows):
    return torch.stack([x for x, _ in rows]), torch.stack([y for _, y in rows])


def mixed(shards: dict[str, Shard], weights: dict[str, float], batch_size: int) -> Loader:
    """Batches that mix the corpora by weight; an epoch is over when the first corpus is."""
    sources = {name: IterableWrapper(shard) for name, shard in shards.items()}
    node = MultiNodeWeightedSampler(sources, weights, stop_criteria=StopCriteria.FIRST_DATASET_EXHAUSTED, seed=11)
    node = Batcher(node, batch_size=batch_size, drop_last=True)
    node = Mapper(node, stacked)
    return Loader(Prefetcher(node, prefetch_factor=4))
