import argparse

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from model import Decoder
from trackers import RunTracker
from utils import get_logger


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="sft.pt")
    ap.add_argument("--out", default="runs/sft")
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--snapshot-every", type=int, default=500)
    ap.add_argument("--seed", type=int, default=1234)
    ap.add_argument("--local_rank", type=int, default=-1)
    ap = deepspeed.add_config_arguments(ap)
    args = ap.parse_args()

    deepspeed.init_distributed()
    torch.manual_seed(args.seed)
    log = get_logger()
    model = Decoder()
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    tracker = RunTracker(args.out, args.snapshot_every)

    blob = torch.load(args.data)
    data = TensorDataset(blob["ids"], blob["mask"])
    sampler = DistributedSampler(data, seed=args.seed, drop_last=True)
    loader = DataLoader(data, engine.train_micro_batch_size_per_gpu(), sampler=sampler, drop_last=True, num_workers=2)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        engine.train()
        for ids, mask in loader:
            boundary = engine.is_gradient_accumulation_boundary()
            loss = engine(ids.to(engine.device), mask.to(engine.device))
            engine.backward(loss)
            engine.step()
            if not boundary:
                continue
            step = engine.global_steps
            if step % 20 == 0:
                avg = loss.detach().float()
                dist.all_reduce(avg)
                avg = avg.item() / dist.get_world_size()
                log.info("epoch %d step %d loss %.4f", epoch, step, avg)
                tracker.metrics(step, loss=avg, lr=engine.get_lr()[0])
            tracker.maybe_snapshot(engine, step, epoch)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
