"""Spoken digits from log-mel frames: an encoder with LayerDrop under fully_shard (FSDP2), with a warm-up of the depth."""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from encoder import Depth, SpeechEncoder

SEED = 34
WARMUP = 30


def digits(count=2400):
    g = torch.Generator().manual_seed(2)
    labels = torch.randint(0, 10, (count,), generator=g)
    frames = torch.randn(count, 30, 40, generator=g)
    frames[torch.arange(count), :, labels * 4] += 1.0
    return TensorDataset(frames, labels)


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(SEED)
    depth = Depth(0.0, seed=SEED + rank)
    model = SpeechEncoder(depth)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = digits()
    sampler = DistributedSampler(data, drop_last=True)
    loader = DataLoader(data, batch_size=8, sampler=sampler, drop_last=True)

    number = 0
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for frames, labels in loader:
            if number == WARMUP:
                depth.probability = 0.02
            loss = nn.functional.cross_entropy(model(frames), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            number += 1
            if rank == 0 and number % 20 == 0:
                print(f"step {number}: loss {loss.item():.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
