"""Masked language model of protein sequences with FSDP2.

    torchrun --nproc-per-node 8 pretrain.py --steps 2000
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from model import ProteinEncoder
from optim import build_optimizer, clip_gradients, warmup_cosine

MASK, AMINO = 23, 20


class Families(Dataset):
    """Sequences mutated from a few ancestors."""

    def __init__(self, n=256, length=48, ancestors=8):
        gen = torch.Generator().manual_seed(11)
        self.roots = torch.randint(AMINO, (ancestors, length), generator=gen)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(i)
        seq = self.roots[i % len(self.roots)].clone()
        hit = torch.rand(seq.shape, generator=gen) < 0.1
        seq[hit] = torch.randint(AMINO, (int(hit.sum()),), generator=gen)
        return seq


def mask_tokens(seq, per_sequence=7):
    """The same number in every sequence, so that the mean over ranks is the mean over tokens."""
    places = torch.rand(seq.shape, device=seq.device).topk(per_sequence, dim=1).indices
    chosen = torch.zeros_like(seq, dtype=torch.bool).scatter_(1, places, True)
    labels = seq.masked_fill(~chosen, -100)
    return seq.masked_fill(chosen, MASK), labels


def endless(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clip", type=float, default=0.5)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="protein_mlm.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    torch.manual_seed(args.seed)
    model = ProteinEncoder().to(device)
    mesh = init_device_mesh(device.type, (world,))
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = build_optimizer(model, args.lr, weight_decay=0.01)
    sched = warmup_cosine(opt, warmup=5, total=args.steps)
    torch.manual_seed(args.seed + 1 + rank)  # masks differ between ranks

    data = Families()
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    batches = endless(DataLoader(data, args.batch_size, sampler=sampler, drop_last=True), sampler)

    for step in range(args.steps):
        ids, labels = mask_tokens(next(batches).to(device))
        loss = F.cross_entropy(model(ids).flatten(0, 1), labels.flatten(), ignore_index=-100)
        loss.backward()
        norm = clip_gradients(list(model.parameters()), args.clip)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        if step % 5 == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.4f} grad norm {norm.item():.3f}", flush=True)

    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if rank == 0:
        torch.save(state, args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
