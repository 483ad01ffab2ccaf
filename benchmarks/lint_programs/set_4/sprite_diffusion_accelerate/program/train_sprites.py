import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from schedule import warmup_cosine
from sprites import Sprites, UNet


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=50)
    p.add_argument("--sprites", type=int, default=20000)
    p.add_argument("--batch-size", type=int, default=64, help="per process")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--warmup", type=int, default=500, help="optimizer steps")
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="sprites.pt")
    return p.parse_args()


def diffusion_loss(model, x):
    t = torch.rand(len(x), device=x.device)
    angle = (t * torch.pi / 2)[:, None, None, None]
    noise = torch.randn_like(x)
    return (model(angle.cos() * x + angle.sin() * noise, t) - noise).pow(2).mean()


def main():
    args = parse_args()
    accelerator = Accelerator()
    set_seed(args.seed)
    model = UNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(Sprites(args.sprites), args.batch_size, shuffle=True, drop_last=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    total_steps = len(loader) * args.epochs
    scheduler = accelerator.prepare(warmup_cosine(optimizer, args.warmup, total_steps))
    set_seed(args.seed, device_specific=True)

    step = 0
    for epoch in range(args.epochs):
        model.train()
        for x in loader:
            loss = diffusion_loss(model, x)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            step += 1
            if step % args.log_every == 0:
                mean = accelerator.reduce(loss.detach(), reduction="mean").item()
                accelerator.print(f"step {step}/{total_steps} loss {mean:.4f} lr {scheduler.get_last_lr()[0]:.2e}")

    accelerator.wait_for_everyone()
    accelerator.save(accelerator.unwrap_model(model).state_dict(), args.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
