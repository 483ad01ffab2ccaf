"""Contrastive pre-training on precomputed image features and captions.

    torchrun --nproc_per_node=8 train.py --features cc3m_feats.pt --epochs 10

Without --features a synthetic paired set is used.
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from loss import ContrastiveLoss
from model import MiniCLIP


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--features", default=None)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=32, help="per process")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=17)
    p.add_argument("--out", default="clip_mini.pt")
    return p.parse_args()


def load_pairs(path, seed, n=1280, image_dim=64, vocab=512, length=8):
    if path:
        blob = torch.load(path, map_location="cpu", weights_only=True)
        images, tokens = blob["images"], blob["tokens"]
    else:
        g = torch.Generator().manual_seed(seed)
        tokens = torch.randint(0, vocab, (n, length), generator=g)
        codebook = torch.randn(vocab, image_dim, generator=g)
        images = codebook[tokens].mean(dim=1)
        images = images + 0.05 * torch.randn(n, image_dim, generator=g)
    cut = int(0.9 * len(images))
    return (
        TensorDataset(images[:cut], tokens[:cut]),
        TensorDataset(images[cut:], tokens[cut:]),
    )


@torch.no_grad()
def retrieval_at_1(model, dataset, device):
    model.eval()
    images, tokens = dataset.tensors
    img, txt, _ = model(images.to(device), tokens.to(device))
    hits = (img @ txt.T).argmax(dim=1) == torch.arange(len(img), device=device)
    model.train()
    return hits.float().mean().item()


def main():
    args = parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)

    train_set, val_set = load_pairs(args.features, args.seed)
    sampler = DistributedSampler(train_set, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)

    model = DDP(MiniCLIP().to(device), device_ids=[local_rank] if use_cuda else None)
    criterion = ContrastiveLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        running = torch.zeros(2, device=device)
        for images, tokens in loader:
            img, txt, scale = model(images.to(device), tokens.to(device))
            loss = criterion(img, txt, scale)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            running += torch.stack([loss.detach(), torch.ones_like(loss)])
        dist.all_reduce(running)
        if rank == 0:
            r1 = retrieval_at_1(model.module, val_set, device)
            print(f"epoch {epoch}: loss {running[0] / running[1]:.4f} val R@1 {r1:.3f}", flush=True)
        dist.barrier()

    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
