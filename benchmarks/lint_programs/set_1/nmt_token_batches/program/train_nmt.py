import argparse
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from batching import PAD, ParallelText, TokenBatchSampler
from nmt import Translator


def token_loss(model, batch, device, smoothing):
    """Summed cross entropy and number of target tokens."""
    src, tgt = (t.to(device, non_blocking=True) for t in batch)
    gold = tgt[:, 1:]
    logits = model(src, tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), gold.flatten(), ignore_index=PAD, reduction="sum",
                           label_smoothing=smoothing)
    return loss, gold.ne(PAD).sum()


def inverse_sqrt(warmup):
    return lambda step: min((step + 1) / warmup, (warmup / (step + 1)) ** 0.5)


def train_epoch(epoch, model, loader, optim, sched, device, args):
    loader.batch_sampler.set_epoch(epoch)
    model.train()
    began, done, world = time.time(), 0, dist.get_world_size()
    for batch in loader:
        loss, ntok = token_loss(model, batch, device, args.smoothing)
        tokens = ntok.clone()
        dist.all_reduce(tokens)
        optim.zero_grad(set_to_none=True)
        # DDP averages over the ranks, we want the mean over the tokens of all of them
        (loss * world / tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optim.step()
        sched.step()
        done += 1
        if done % args.report == 0 and dist.get_rank() == 0:
            print(f"epoch {epoch} update {done}: rank-0 loss/token {(loss / ntok).item():.3f} "
                  f"({done / (time.time() - began):.2f} updates/s)", file=sys.stderr)


@torch.no_grad()
def perplexity(net, loader, device):
    net.eval()
    acc = torch.zeros(2, dtype=torch.float64, device=device)
    for batch in loader:
        loss, ntok = token_loss(net, batch, device, 0.0)
        acc[0] += loss
        acc[1] += ntok
    dist.all_reduce(acc)
    return (acc[0] / acc[1]).exp().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--train", required=True)
    ap.add_argument("--valid", required=True)
    ap.add_argument("--save", required=True)
    ap.add_argument("--vocab-size", type=int, default=32000)
    ap.add_argument("--max-tokens", type=int, default=4096, help="padded tokens per batch and GPU")
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--lr", type=float, default=7e-4)
    ap.add_argument("--warmup", type=int, default=4000)
    ap.add_argument("--smoothing", type=float, default=0.1)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--report", type=int, default=100)
    args = ap.parse_args()

    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", local)

    train = ParallelText(args.train)
    valid = ParallelText(args.valid)
    train_loader = DataLoader(train, batch_sampler=TokenBatchSampler(train.sizes, args.max_tokens, rank, world),
                              collate_fn=ParallelText.collate, num_workers=2, pin_memory=True)
    valid_loader = DataLoader(torch.utils.data.Subset(valid, range(rank, len(valid), world)), batch_size=32,
                              collate_fn=ParallelText.collate)

    net = Translator(args.vocab_size).to(device)
    model = DDP(net, device_ids=[local])
    optim = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    sched = torch.optim.lr_scheduler.LambdaLR(optim, inverse_sqrt(args.warmup))

    best = float("inf")
    for epoch in range(args.epochs):
        train_epoch(epoch, model, train_loader, optim, sched, device, args)
        ppl = perplexity(net, valid_loader, device)
        if rank == 0:
            print(f"epoch {epoch}: valid ppl {ppl:.2f}", file=sys.stderr, flush=True)
            state = {"net": net.state_dict(), "epoch": epoch, "ppl": ppl}
            torch.save(state, f"{args.save}.last.pt")
            if ppl < best:
                torch.save(state, f"{args.save}.best.pt")
        best = min(best, ppl)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
