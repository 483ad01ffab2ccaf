import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler


@dataclass(frozen=True)
class Setup:
    meshes: int = 2880
    batch_size: int = 4
    micro: int = 4
    epochs: int = 2
    rate: float = 1e-3


class Meshes(Dataset):
    """Boundary values of a mesh and the field inside; some meshes take longer to read."""

    def __init__(self, count):
        generator = torch.Generator().manual_seed(33)
        self.edges = torch.randn(count, 32, generator=generator)

    def __len__(self):
        return len(self.edges)

    def __getitem__(self, index):
        time.sleep(0.04 if index % 37 == 0 else 0.009)
        return self.edges[index], self.edges[index].cumsum(0)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.net = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.net(self.norm(x))


def shard(model):
    for layer in model:
        if isinstance(layer, Layer):
            fully_shard(layer)
    fully_shard(model)
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.set_force_sum_reduction_for_comms(True)
    return model


def main():
    setup = Setup()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(90)
    model = shard(nn.Sequential(nn.Linear(32, 48), Layer(48), Layer(48), nn.Linear(48, 32)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=setup.rate)
    data = Meshes(setup.meshes)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, setup.batch_size, sampler=sampler, drop_last=True)
    for epoch in range(setup.epochs):
        sampler.set_epoch(epoch)
        error, rejected = torch.zeros(1), 0
        for number, (edges, fields) in enumerate(loader, start=1):
            last = number % setup.micro == 0 or number == len(loader)
            model.set_requires_gradient_sync(last)
            residual = model(edges) - fields
            loss = residual.square().mean()
            if not torch.isfinite(loss) or loss > 22.0:
                # the same operations, without any weight
                rejected += 1
                loss = torch.nan_to_num(loss) * 0.0
            (loss / setup.micro).backward()
            error += loss.detach()
            if last:
                optimizer.step()
                optimizer.zero_grad()
        dist.all_reduce(error)
        if dist.get_rank() == 0:
            mean = error.item() / len(loader) / dist.get_world_size()
            print(f"epoch {epoch}: {mean:.3f}, {rejected} rejected", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
