import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from losses import ContrastiveLoss
from towers import DualEncoder


def load_pairs(path, vocab, words=6, n=4096):
    if path:
        blob = torch.load(path, map_location="cpu")
        return TensorDataset(blob["images"], blob["captions"])
    g = torch.Generator().manual_seed(9)
    captions = torch.randint(vocab, (n, words), generator=g)
    palette = torch.rand(vocab, 3, 8, 8, generator=g)
    images = palette[captions].mean(1) + 0.05 * torch.randn(n, 3, 8, 8, generator=g)
    return TensorDataset(images, captions)


@torch.no_grad()
def recall_at_1(net, pairs, device):
    net.eval()
    images, captions = (t[:512].to(device) for t in pairs.tensors)
    i, t, _ = net(images, captions)
    sim = torch.nn.functional.normalize(i, dim=-1) @ torch.nn.functional.normalize(t, dim=-1).t()
    return (sim.argmax(1) == torch.arange(len(sim), device=device)).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--pairs", default="")
    p.add_argument("--vocab", type=int, default=200)
    p.add_argument("--width", type=int, default=64)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--batch-size", type=int, default=256, help="pairs per rank")
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="dual_encoder.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(args.seed)

    pairs = load_pairs(args.pairs, args.vocab)
    sampler = DistributedSampler(pairs, seed=args.seed)
    loader = DataLoader(pairs, args.batch_size, sampler=sampler, drop_last=True)
    net = DualEncoder(args.vocab, args.width, args.dim).to(device)
    model = DistributedDataParallel(net, device_ids=[device.index] if cuda else None)
    criterion = ContrastiveLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros((), device=device)
        for images, captions in loader:
            loss = criterion(*model(images.to(device), captions.to(device)))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total)
        if rank == 0:
            recall = recall_at_1(net, pairs, device)
            print(f"epoch {epoch}  loss {total.item() / len(loader) / world:.4f}  R@1 {recall:.3f}", flush=True)
            torch.save(net.state_dict(), args.out)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
