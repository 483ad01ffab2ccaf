import argparse
import functools
import os
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

import checkpoint
from model import GPT, Block, GPTConfig


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--out_dir", default="out")
    p.add_argument("--batch_size", type=int, default=32, help="sequences per GPU")
    p.add_argument("--steps", type=int, default=5000)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--save_every", type=int, default=500)
    p.add_argument("--log_every", type=int, default=20)
    p.add_argument("--resume", action="store_true")
    return p.parse_args()


def load_text(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    chars = sorted(set(text))
    stoi = {c: i for i, c in enumerate(chars)}
    return torch.tensor([stoi[c] for c in text], dtype=torch.long), len(chars)


def get_batch(data, block_size, batch_size, gen, device):
    ix = torch.randint(len(data) - block_size - 1, (batch_size,), generator=gen).tolist()
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x.to(device), y.to(device)


def main():
    args = get_args()
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank)

    data, vocab_size = load_text(args.data)
    cfg = GPTConfig(vocab_size=vocab_size)

    torch.manual_seed(1337)
    model = FSDP(
        GPT(cfg),
        auto_wrap_policy=functools.partial(
            transformer_auto_wrap_policy, transformer_layer_cls={Block}
        ),
        mixed_precision=MixedPrecision(
            param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16
        ),
        device_id=device,
        use_orig_params=True,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95))

    ckpt_path = os.path.join(args.out_dir, "last.pt")
    os.makedirs(args.out_dir, exist_ok=True)
    start = checkpoint.load(ckpt_path, model, optimizer) if args.resume else 0

    gen = torch.Generator().manual_seed(1000 * (start + 1) + rank)
    torch.manual_seed(1337 + rank)
    t0 = time.time()
    model.train()
    for step in range(start, args.steps):
        x, y = get_batch(data, cfg.block_size, args.batch_size, gen, device)
        loss = model(x, y)
        loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

        if step % args.log_every == 0:
            mean_loss = loss.detach().clone()
            dist.all_reduce(mean_loss, op=dist.ReduceOp.AVG)
            if rank == 0:
                print(f"step {step} loss {mean_loss.item():.4f} {time.time() - t0:.1f}s", flush=True)

        if (step + 1) % args.save_every == 0:
            checkpoint.save(ckpt_path, model, optimizer, step + 1)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()
