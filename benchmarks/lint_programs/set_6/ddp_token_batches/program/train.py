import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from batching import PAD, TokenBatchSampler, collate
from corpus import ReversalCorpus
from seq2seq import Seq2Seq


def token_loss(model, src, tgt):
    logits = model(src, tgt[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    stats = torch.zeros(2, dtype=torch.float64, device=device)
    for src, tgt in loader:
        n = (tgt[:, 1:] != PAD).sum().item()
        stats[0] += token_loss(model, src.to(device), tgt.to(device)).double() * n
        stats[1] += n
    dist.all_reduce(stats)
    return (stats[0] / stats[1]).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=10)
    ap.add_argument("--max-tokens", type=int, default=1024)
    ap.add_argument("--sentences", type=int, default=20000)
    ap.add_argument("--vocab", type=int, default=100)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--log-every", type=int, default=50)
    ap.add_argument("--checkpoint", default="checkpoint_last.pt")
    args = ap.parse_args()

    gpu = torch.cuda.is_available()
    dist.init_process_group("nccl" if gpu else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)

    train_set = ReversalCorpus(args.sentences, args.vocab, seed=0)
    valid_set = ReversalCorpus(max(64, args.sentences // 50), args.vocab, seed=1)
    sampler = TokenBatchSampler(train_set.lengths, args.max_tokens, rank, world)
    train_loader = DataLoader(train_set, batch_sampler=sampler, collate_fn=collate)
    valid_part = torch.utils.data.Subset(valid_set, range(rank, len(valid_set), world))
    valid_loader = DataLoader(valid_part, batch_size=16, collate_fn=collate)

    torch.manual_seed(1)
    model = DistributedDataParallel(
        Seq2Seq(args.vocab).to(device), device_ids=[device.index] if gpu else None
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))

    updates = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for src, tgt in train_loader:
            loss = token_loss(model, src.to(device), tgt.to(device))
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            updates += 1
            if rank == 0 and updates % args.log_every == 0:
                print(f"| epoch {epoch:02d} | update {updates} | loss {loss.item():.3f}", flush=True)

        valid_loss = validate(model.module, valid_loader, device)
        if rank == 0:
            print(f"| epoch {epoch:02d} | valid loss {valid_loss:.3f}", flush=True)
            torch.save({"model": model.module.state_dict(), "updates": updates}, args.checkpoint)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
