import argparse
import functools
import math
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
import yaml
from torch.distributed.fsdp import (
    FullStateDictConfig,
    FullyShardedDataParallel as FSDP,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from model import Block, Transformer


class ByteChunks(Dataset):
    """Fixed length windows over a byte file (or over generated text when no file is given)."""

    def __init__(self, path, seq_len):
        if path:
            raw = Path(path).read_bytes()
        else:
            raw = b"".join(b"%d squared is %d. " % (i, i * i) for i in range(4000))
        self.data = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
        self.seq_len = seq_len

    def __len__(self):
        return (len(self.data) - 1) // self.seq_len

    def __getitem__(self, i):
        window = self.data[i * self.seq_len:(i + 1) * self.seq_len + 1].long()
        return window[:-1], window[1:]


def cosine_lr(step, cfg):
    if step < cfg["warmup_steps"]:
        return cfg["lr"] * (step + 1) / cfg["warmup_steps"]
    done = (step - cfg["warmup_steps"]) / max(1, cfg["max_steps"] - cfg["warmup_steps"])
    return cfg["lr"] * (0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, done))))


def build_model(cfg, device):
    model = Transformer(**cfg["model"])
    policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block})
    mp = None
    if device.type == "cuda":
        mp = MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16)
    return FSDP(
        model,
        auto_wrap_policy=policy,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        mixed_precision=mp,
        device_id=device,
        sync_module_states=device.type == "cuda",
        use_orig_params=True,
    )


def infinite(loader, sampler):
    epoch = 0
    while True:
        sampler.set_epoch(epoch)
        yield from loader
        epoch += 1


def train_step(model, optimizer, batch, lr, max_norm):
    tokens, targets = batch
    for group in optimizer.param_groups:
        group["lr"] = lr
    logits = model(tokens)
    loss = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    grad_norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.detach(), grad_norm


def save(model, path, step):
    cfg = FullStateDictConfig(offload_to_cpu=torch.cuda.is_available(), rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, cfg):
        state = model.state_dict()
    if dist.get_rank() == 0:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        torch.save({"model": state, "step": step}, path)
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="config.yaml")
    parser.add_argument("--data", default=None)
    args = parser.parse_args()
    cfg = yaml.safe_load(Path(args.config).read_text())
    tcfg = cfg["train"]

    use_cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local_rank) if use_cuda else torch.device("cpu")
    if use_cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if use_cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(tcfg["seed"])

    model = build_model(cfg, device)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=tcfg["lr"], betas=(0.9, 0.95), weight_decay=tcfg["weight_decay"]
    )
    dataset = ByteChunks(args.data, cfg["model"]["max_seq_len"])
    sampler = DistributedSampler(dataset, shuffle=True, seed=tcfg["seed"], drop_last=True)
    loader = DataLoader(dataset, tcfg["batch_size"], sampler=sampler, drop_last=True,
                        pin_memory=use_cuda)
    batches = infinite(loader, sampler)

    model.train()
    for step in range(tcfg["max_steps"]):
        batch = [t.to(device, non_blocking=True) for t in next(batches)]
        loss, grad_norm = train_step(model, optimizer, batch, cosine_lr(step, tcfg), tcfg["max_norm"])
        if (step + 1) % tcfg["log_every"] == 0:
            dist.all_reduce(loss)
            if rank == 0:
                print(f"step {step + 1} loss {loss.item() / world:.4f} grad_norm {grad_norm.item():.4f}",
                      flush=True)

    save(model, tcfg["out"], tcfg["max_steps"])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
