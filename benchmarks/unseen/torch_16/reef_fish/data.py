"""Counts of fish on reef transects: video features in, abundance of twelve families out. All of it is generated."""
import dataclasses

import torch
from torch.utils.data import DataLoader, TensorDataset

FAMILIES = 12
FEATURES = 40


@dataclasses.dataclass(frozen=True)
class Survey:
    transects: int = 1536
    held_out: int = 192
    seed: int = 5


def transects(count, seed):
    g = torch.Generator().manual_seed(seed)
    mixing = torch.randn(FEATURES, FAMILIES, generator=torch.Generator().manual_seed(99)) / FEATURES ** 0.5
    video = torch.randn(count, FEATURES, generator=g) * 1.5 + 0.4
    abundance = torch.nn.functional.softplus(video @ mixing + 0.3 * (video[:, :1] * video[:, 1:2]))
    return video, torch.log1p(abundance)


def loaders(survey, rank, world, batch):
    video, abundance = transects(survey.transects, survey.seed)
    share = slice(rank * survey.transects // world, (rank + 1) * survey.transects // world)
    train = TensorDataset(video[share], abundance[share])
    held_out = TensorDataset(*transects(survey.held_out, survey.seed + 1))
    order = torch.Generator().manual_seed(200 + rank)
    return (
        DataLoader(train, batch_size=batch, shuffle=True, drop_last=True, generator=order),
        DataLoader(held_out, batch_size=64),
    )


def calibration(loader, batches):
    """The first batches of a pass, features only."""
    for index, (video, _) in enumerate(loader):
        if index == batches:
            return
        yield video
