"""Masked-residue pretraining of a weight-shared encoder (DDP, bf16 autocast).

    torchrun --standalone --nproc_per_node 2 pretrain.py --steps 40
"""
import argparse
import math
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from model import ProteinEncoder

AMINO = "ACDEFGHIKLMNPQRSTVWY"
PAD, MASK = 0, len(AMINO) + 1
VOCAB = len(AMINO) + 2


class Families(Dataset):
    """Noisy copies of a few ancestral sequences."""

    def __init__(self, size, families=24, length=48, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.roots = torch.randint(1, len(AMINO) + 1, (families, length), generator=g)
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        seq = self.roots[i % len(self.roots)].clone()
        flip = torch.rand(len(seq), generator=g) < 0.05
        seq[flip] = torch.randint(1, len(AMINO) + 1, (int(flip.sum()),), generator=g)
        cut = int(torch.randint(len(seq) // 2, len(seq) + 1, (1,), generator=g))
        seq[cut:] = PAD
        return seq


def mask_tokens(seq, p=0.15):
    labels = seq.clone()
    pick = (torch.rand(seq.shape, device=seq.device) < p) & seq.ne(PAD)
    labels[~pick] = -100
    return torch.where(pick, torch.full_like(seq, MASK), seq), labels


def lr_at(step, args):
    if step < args.warmup:
        return (step + 1) / args.warmup
    t = (step - args.warmup) / max(1, args.steps - args.warmup)
    return 0.5 * (1 + math.cos(math.pi * min(1.0, t)))


def endless(loader):
    epoch = 0
    while True:
        loader.sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=20)
    ap.add_argument("--warmup", type=int, default=5)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--no-checkpointing", dest="checkpointing", action="store_false")
    ap.add_argument("--bf16", action="store_true")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank = dist.get_rank()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(17 + rank)

    encoder = ProteinEncoder(VOCAB).to(device)
    if args.checkpointing:
        encoder.gradient_checkpointing_enable()
    model = DistributedDataParallel(encoder, device_ids=[device.index] if cuda else None)

    data = Families(2048)
    loader = DataLoader(data, args.batch_size, sampler=DistributedSampler(data, seed=5), drop_last=True)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: lr_at(s, args))

    model.train()
    for step, seq in zip(range(args.steps), endless(loader)):
        ids, labels = mask_tokens(seq.to(device))
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=args.bf16):
            logits = model(ids)
        loss = F.cross_entropy(logits.float().flatten(0, 1), labels.flatten(), ignore_index=-100)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 5 == 0:
            shown = loss.detach().clone()
            dist.all_reduce(shown)
            if rank == 0:
                print(f"step {step:4d} loss {shown.item() / dist.get_world_size():.4f}", flush=True)

    if rank == 0:
        torch.save(encoder.state_dict(), "/tmp/protein_encoder.pt")
        print("saved", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
