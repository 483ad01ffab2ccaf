import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

from tinylm.config import load_config
from tinylm.data import TokenBatches
from tinylm.model import GPT
from tinylm.step import Stepper

cfg = load_config(sys.argv[1], sys.argv[2:])

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    ddp_rank = int(os.environ["RANK"])
    ddp_local_rank = int(os.environ["LOCAL_RANK"])
    device = f"cuda:{ddp_local_rank}"
    torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl")
    ddp_world_size = dist.get_world_size()
    assert cfg.gradient_accumulation_steps % ddp_world_size == 0
else:
    ddp_rank, ddp_world_size, device = 0, 1, "cuda"
master_process = ddp_rank == 0

if master_process:
    os.makedirs(cfg.out_dir, exist_ok=True)
    n = cfg.gradient_accumulation_steps * cfg.batch_size * cfg.block_size
    print(f"tokens per iteration: {n:,}")

torch.manual_seed(cfg.seed + ddp_rank)
torch.backends.cuda.matmul.allow_tf32 = True

raw_model = GPT(cfg).to(device)
optimizer = raw_model.configure_optimizer(cfg)
model = DDP(raw_model, device_ids=[ddp_local_rank]) if ddp else raw_model
batches = TokenBatches(cfg, device, seed=cfg.seed + ddp_rank)
stepper = Stepper(model, optimizer, batches, cfg, ddp_world_size)


@torch.no_grad()
def estimate_loss():
    out = {}
    raw_model.eval()
    for split in ("train", "val"):
        losses = torch.zeros(cfg.eval_iters, device=device)
        for k in range(cfg.eval_iters):
            with stepper.amp():
                losses[k] = raw_model(*batches.get(split))
        mean = losses.mean()
        if ddp:
            dist.all_reduce(mean)
            mean /= ddp_world_size
        out[split] = mean.item()
    raw_model.train()
    return out


best_val_loss = float("inf")
t0 = time.time()
for it in range(cfg.max_iters):
    if it % cfg.eval_interval == 0:
        losses = estimate_loss()
        if master_process:
            print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
            if it > 0 and losses["val"] < best_val_loss:
                torch.save({"model": raw_model.state_dict(), "iter": it, "config": cfg.to_dict()},
                           os.path.join(cfg.out_dir, "ckpt.pt"))
        best_val_loss = min(best_val_loss, losses["val"])

    loss = stepper.run(it)
    if it % cfg.log_interval == 0 and master_process:
        dt, t0 = time.time() - t0, time.time()
        print(f"iter {it}: loss {loss.item():.4f}, {dt * 1000 / cfg.log_interval:.0f} ms/iter")

if ddp:
    dist.destroy_process_group()
