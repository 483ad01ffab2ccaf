import argparse
import random

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.accelerator import get_accelerator
from torch.utils.data import DataLoader, DistributedSampler

from data import Collate, Pages
from model import Captioner


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--local_rank", type=int, default=-1)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--vocab", type=int, default=2048)
    p.add_argument("--seq-len", type=int, default=64)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--image-size", type=int, default=32)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="runs/captioner")
    return deepspeed.add_config_arguments(p).parse_args()


def loader_for(args, n, seed, batch_size, shuffle):
    data = Pages(n, args.vocab, args.seq_len, args.image_size, seed)
    sampler = DistributedSampler(data, shuffle=shuffle, seed=args.seed)
    return DataLoader(data, batch_size=batch_size, sampler=sampler, num_workers=2,
                      collate_fn=Collate(args.image_size), pin_memory=True)


def to(batch, device):
    return {k: v.to(device, non_blocking=True) for k, v in batch.items()}


@torch.no_grad()
def validate(engine, loader):
    engine.eval()
    total = torch.zeros(2, device=engine.device)
    for batch in loader:
        total += torch.stack([engine(**to(batch, engine.device)).float(), total.new_ones(())])
    engine.train()
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main():
    args = parse()
    deepspeed.init_distributed()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    get_accelerator().manual_seed_all(args.seed)

    model = Captioner(args.vocab, args.seq_len, args.width, args.image_size)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model,
                                           model_parameters=model.parameters())
    micro = engine.train_micro_batch_size_per_gpu()
    train = loader_for(args, 8000, 1, micro, shuffle=True)
    held_out = loader_for(args, 800, 2, micro, shuffle=False)

    for epoch in range(args.epochs):
        train.sampler.set_epoch(epoch)
        for step, batch in enumerate(train):
            loss = engine(**to(batch, engine.device))
            engine.backward(loss)
            engine.step()
            if step % 50 == 0:
                mean = loss.detach().float().clone()
                dist.all_reduce(mean)
                if dist.get_rank() == 0:
                    print(f"epoch {epoch} step {step} loss {mean.item() / dist.get_world_size():.4f}",
                          flush=True)
        score = validate(engine, held_out)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} held-out {score:.4f}", flush=True)
        engine.save_checkpoint(args.out, tag=f"epoch{epoch}")


if __name__ == "__main__":
    main()
