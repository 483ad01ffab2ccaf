import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import env as environment
from model import Products, build


@torch.no_grad()
def recall_at_1(net, data, env):
    """Titles found by photo; each rank asks for its share of the products."""
    net.eval()
    photo, title = data.photo.to(env.device), data.title.to(env.device)
    image, text, _ = net(photo, title)
    mine = torch.arange(env.rank, len(data), env.world_size, device=env.device)
    hits = ((image[mine] @ text.t()).argmax(1) == mine).sum().double()
    counts = torch.stack([hits, torch.full_like(hits, mine.numel())])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--products", type=int, default=640)
    p.add_argument("--pixels", type=int, default=48)
    p.add_argument("--vocab", type=int, default=60)
    p.add_argument("--dim", type=int, default=32)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", default="shop_clip.pt")
    args = p.parse_args()

    env = environment.start()
    torch.manual_seed(args.seed)
    data = Products(args.products, args.pixels, args.vocab)
    sampler = DistributedSampler(data, env.world_size, env.rank, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    net, criterion = build(args, env)
    model = DDP(net, device_ids=[env.local_rank] if env.device.type == "cuda" else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = torch.zeros(2, device=env.device)
        for photo, title in loader:
            image, text, scale = model(photo.to(env.device), title.to(env.device))
            loss = criterion(image, text, scale)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total[0] += loss.detach()
            total[1] += 1
        dist.all_reduce(total)
        recall = recall_at_1(net, data, env)
        if env.is_main:
            print(f"epoch {epoch} loss {(total[0] / total[1]).item():.4f} recall@1 {recall:.3f}", flush=True)
    if env.is_main:
        torch.save(net.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
