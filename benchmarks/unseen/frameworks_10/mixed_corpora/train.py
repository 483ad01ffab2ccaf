"""Language of short messages from three corpora that torchdata's nodes mix by weight."""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from mixture import Shard, mixed

WEIGHTS = {"chat": 0.5, "mail": 0.3, "forum": 0.2}
SIZES = {"chat": 9600, "mail": 5760, "forum": 3840}


def corpus(name, rank, world):
    g = torch.Generator().manual_seed(len(name))
    labels = torch.randint(0, 6, (SIZES[name],), generator=g)
    centres = torch.randn(6, 48, generator=torch.Generator().manual_seed(0))
    return Shard(centres[labels] + torch.randn(SIZES[name], 48, generator=g), labels, rank, world)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(48, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 6))
    model = DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = mixed({name: corpus(name, rank, world) for name in SIZES}, WEIGHTS, batch_size=16)

    for epoch in range(3):
        right = torch.zeros(2)
        for features, labels in loader:
            scores = model(features)
            loss = nn.functional.cross_entropy(scores, labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            right += torch.tensor([(scores.argmax(1) == labels).sum(), len(labels)])
        dist.all_reduce(right)
        if rank == 0:
            print(f"epoch {epoch}: accuracy {right[0] / right[1]:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
