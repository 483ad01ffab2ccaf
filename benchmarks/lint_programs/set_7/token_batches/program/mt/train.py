import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from .batching import TokenBatchSampler
from .dataset import PAD, PairDataset, collate
from .model import Translator


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pairs", default="")
    p.add_argument("--vocab", type=int, default=16000)
    p.add_argument("--dim", type=int, default=512)
    p.add_argument("--heads", type=int, default=8)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--max-len", type=int, default=256)
    p.add_argument("--max-tokens", type=int, default=8192)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--save", default="nmt.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    data = PairDataset(args.pairs, args.vocab, args.max_len)
    sampler = TokenBatchSampler(data.lengths, args.max_tokens, rank, world, seed=args.seed)
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate, num_workers=args.workers)

    torch.manual_seed(args.seed + rank)  # dropout differs per rank, DDP shares the weights
    net = Translator(args.vocab, args.dim, args.heads, args.layers, args.max_len).to(device)
    model = DDP(net, device_ids=[device.index] if cuda else None)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        nll, words = torch.zeros((), device=device), torch.zeros((), device=device)
        for src, tgt_in, tgt_out in loader:
            src, tgt_in, tgt_out = src.to(device), tgt_in.to(device), tgt_out.to(device)
            tokens = (tgt_out != PAD).sum()
            all_tokens = tokens.clone()
            dist.all_reduce(all_tokens)
            logits = model(src, tgt_in)
            loss = F.cross_entropy(logits.transpose(1, 2), tgt_out, ignore_index=PAD, reduction="sum")
            optimizer.zero_grad(set_to_none=True)
            (loss * world / all_tokens).backward()  # mean over the tokens of all ranks
            optimizer.step()
            nll += loss.detach()
            words += tokens
        dist.barrier()
        dist.all_reduce(nll)
        dist.all_reduce(words)
        if rank == 0:
            print(f"epoch {epoch}: nll/token {(nll / words).item():.4f}", flush=True)
            torch.save(net.state_dict(), args.save)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
