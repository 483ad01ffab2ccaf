"""Parrot phrases on three machines, parameters sharded with FSDP2.

torchrun --standalone --nproc-per-node 3 train.py
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from net import PhraseNet
from stations import held_out, training


def build(mesh):
    torch.manual_seed(4)
    model = PhraseNet()
    for part in (model.body, model.separator, model.trunk):
        fully_shard(part, mesh=mesh)
    return fully_shard(model, mesh=mesh)


@torch.no_grad()
def evaluate(model, rank):
    model.eval()
    counts = torch.zeros(2)
    for sound, phrase, duet in held_out(rank):
        guess = model(sound, duet).argmax(1)
        counts += torch.tensor([(guess == phrase).sum(), len(phrase)])
    dist.all_reduce(counts)
    model.train()
    return (counts[0] / counts[1]).item()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = build(mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    for epoch in range(3):
        for step, (sound, phrase, duet) in enumerate(training(rank)):
            loss = nn.functional.cross_entropy(model(sound, duet), phrase)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % 50 == 0 and rank == 0:
                print(f"{epoch}/{step:03d}  {loss.item():.3f}", flush=True)
        accuracy = evaluate(model, rank)
        if rank == 0:
            print(f"epoch {epoch} held out {accuracy:.3f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
