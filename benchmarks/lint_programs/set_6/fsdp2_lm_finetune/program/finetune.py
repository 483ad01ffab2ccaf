"""Full fine-tuning of the byte-level decoder with FSDP2.

    torchrun --standalone --nproc_per_node=8 finetune.py --init base.pt --steps 2000
"""
import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader, Dataset, DistributedSampler

from model import Decoder


class Instructions(Dataset):
    def __init__(self, n, length=48, seed=0):
        g = torch.Generator().manual_seed(seed)
        start = torch.randint(0, 256, (n, 1), generator=g)
        stride = torch.randint(1, 4, (n, 1), generator=g)
        self.ids = (start + stride * torch.arange(length)) % 256
        self.prompt = 4

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        labels = self.ids[i].clone()
        labels[: self.prompt] = -100
        return self.ids[i], labels


def lm_loss(model, ids, labels):
    logits = model(ids)[:, :-1]
    return F.cross_entropy(logits.flatten(0, 1).float(), labels[:, 1:].flatten(), ignore_index=-100)


def param_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def shard(model, mesh, bf16):
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32) if bf16 else MixedPrecisionPolicy()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model


def save(model, path):
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if dist.get_rank() == 0:
        torch.save(state, path)
    dist.barrier()


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    acc = torch.zeros(2, device=device)
    for ids, labels in loader:
        acc[0] += lm_loss(model, ids.to(device), labels.to(device))
        acc[1] += 1
    dist.all_reduce(acc)
    model.train()
    return (acc[0] / acc[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--init", default="")
    p.add_argument("--out", default="finetuned.pt")
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--examples", type=int, default=4096)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight-decay", type=float, default=0.1)
    p.add_argument("--eval-every", type=int, default=100)
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")
    mesh = init_device_mesh(device.type, (dist.get_world_size(),))

    torch.manual_seed(0)
    model = Decoder().to(device)
    if args.init:
        model.load_state_dict(torch.load(args.init, map_location=device, weights_only=True))
    optimizer = torch.optim.AdamW(param_groups(model, args.weight_decay), lr=args.lr, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    model = shard(model, mesh, bf16=cuda)

    train_set, val_set = Instructions(args.examples), Instructions(256, seed=1)
    sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    train = DataLoader(train_set, args.batch_size, sampler=sampler, drop_last=True)
    val = DataLoader(val_set, args.batch_size, sampler=DistributedSampler(val_set, shuffle=False))

    step, epoch = 0, 0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for ids, labels in train:
            loss = lm_loss(model, ids.to(device), labels.to(device))
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad(set_to_none=True)
            step += 1
            if step % 10 == 0:
                norm = norm.full_tensor().item()
                if dist.get_rank() == 0:
                    print(f"step {step} loss {loss.item():.4f} grad_norm {norm:.3f}", flush=True)
            if step % args.eval_every == 0 or step == args.steps:
                val_loss = evaluate(model, val, device)
                if dist.get_rank() == 0:
                    print(f"step {step} val_loss {val_loss:.4f}", flush=True)
            if step == args.steps:
                break
        epoch += 1
    save(model, args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
