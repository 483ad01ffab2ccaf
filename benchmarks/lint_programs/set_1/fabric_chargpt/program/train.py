import math
import time

import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader

from gpt import GPT
from pack import Blocks, load_tokens

# -----------------------------------------------------------------------------
text_file = "data/books.txt"
cache_dir = "cache"
lowercase = False
block_size = 512
micro_batch = 32
accumulate = 4
max_updates = 20_000
eval_every = 500
eval_batches = 50
lr, min_lr, warmup = 6e-4, 6e-5, 400
grad_clip = 1.0
out_file = "out/ckpt.pt"
devices = 4
# -----------------------------------------------------------------------------


def lr_at(it):
    if it < warmup:
        return lr * (it + 1) / warmup
    ratio = min((it - warmup) / (max_updates - warmup), 1.0)
    return min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (lr - min_lr)


def endless(loader):
    while True:
        yield from loader


@torch.no_grad()
def validate(fabric, model, loader):
    model.eval()
    total = torch.zeros((), device=fabric.device)
    n = 0
    for x, y in loader:
        total += model(x, y)
        n += 1
        if n == eval_batches:
            break
    model.train()
    return fabric.all_reduce(total / n, reduce_op="mean").item()


def main():
    fabric = Fabric(accelerator="cuda", devices=devices, strategy="ddp", precision="bf16-mixed")
    fabric.launch()
    fabric.seed_everything(1337)

    tokens = load_tokens(fabric, text_file, cache_dir, lowercase)
    cut = int(0.98 * len(tokens))
    train = DataLoader(Blocks(tokens[:cut], block_size), micro_batch, shuffle=True, drop_last=True, num_workers=2)
    val = DataLoader(Blocks(tokens[cut:], block_size), micro_batch, drop_last=True)
    train, val = fabric.setup_dataloaders(train, val)

    with fabric.init_module():
        model = GPT(block=block_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.95), weight_decay=0.1)
    model, optimizer = fabric.setup(model, optimizer)

    batches, best, t0 = endless(train), float("inf"), time.time()
    for it in range(max_updates):
        for group in optimizer.param_groups:
            group["lr"] = lr_at(it)

        for micro in range(accumulate):
            x, y = next(batches)
            with fabric.no_backward_sync(model, enabled=micro + 1 < accumulate):
                loss = model(x, y) / accumulate
                fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=grad_clip)
        optimizer.step()
        optimizer.zero_grad()

        if it % 20 == 0:
            fabric.print(f"{it}: loss {loss.item() * accumulate:.3f} ({time.time() - t0:.0f}s)")
        if it and it % eval_every == 0:
            score = validate(fabric, model, val)
            fabric.print(f"{it}: val {score:.4f}")
            if score < best:
                best = score
                fabric.save(out_file, {"model": model, "optimizer": optimizer, "it": it})


if __name__ == "__main__":
    main()
