import argparse
import math
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset

from losses import BatchLoss, token_nll
from lstm import WordLSTM
from text import Sentences, pad_batch


@torch.no_grad()
def perplexity(model, loader, device):
    model.eval()
    stats = torch.zeros(2, dtype=torch.float64, device=device)
    for x, y in loader:
        nll, count = token_nll(model(x.to(device)), y.to(device))
        stats += torch.stack([nll.double(), count.double()])
    dist.all_reduce(stats)
    model.train()
    return math.exp((stats[0] / stats[1]).item())


def main():
    ap = argparse.ArgumentParser(description="word LSTM with plain SGD, learning rate quartered on plateau")
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--sentences", type=int, default=20000)
    ap.add_argument("--global-batch", type=int, default=64)
    ap.add_argument("--lr", type=float, default=4.0)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--vocab", type=int, default=120)
    ap.add_argument("--save", default="lstm.pt")
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(local)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(23)
    net = WordLSTM(args.vocab).to(device)
    model = DDP(net, device_ids=[local] if cuda else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    batch_loss = BatchLoss(device)

    train = Sentences(args.sentences, args.vocab)
    sampler = DistributedSampler(train, drop_last=True)
    loader = DataLoader(train, args.global_batch // world, sampler=sampler, collate_fn=pad_batch, drop_last=True)
    valid = Sentences(400, args.vocab, seed=1)
    valid_loader = DataLoader(Subset(valid, range(rank, len(valid), world)), 50, collate_fn=pad_batch)

    best = float("inf")
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = batch_loss(model(x.to(device)), y.to(device))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
        train_loss = batch_loss.average()
        ppl = perplexity(net, valid_loader, device)
        if rank == 0:
            print(f"epoch {epoch} train nll {train_loss:.4f} valid ppl {ppl:.2f} lr {optimizer.param_groups[0]['lr']}", flush=True)
        if ppl < best:
            best = ppl
            if rank == 0:
                torch.save({"model": net.state_dict(), "args": vars(args), "ppl": ppl}, args.save)
        else:
            for group in optimizer.param_groups:
                group["lr"] /= 4
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
