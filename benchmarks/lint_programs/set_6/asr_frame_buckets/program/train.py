import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from data import FrameBatchSampler, Utterances, collate
from model import ConvCTC


def init_slurm():
    rank = int(os.environ["SLURM_PROCID"])
    world_size = int(os.environ["SLURM_NTASKS"])
    local_rank = int(os.environ["SLURM_LOCALID"])
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, init_method="env://", rank=rank, world_size=world_size)
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank)
        return rank, world_size, torch.device("cuda", local_rank)
    return rank, world_size, torch.device("cpu")


def ctc_step(model, batch, device):
    feats, feat_lens, texts, text_lens = (t.to(device, non_blocking=True) for t in batch)
    log_probs, out_lens = model(feats, feat_lens)
    return F.ctc_loss(log_probs.transpose(0, 1), texts, out_lens, text_lens, zero_infinity=True)


@torch.no_grad()
def validate(model, dataset, device, rank, world_size):
    model.eval()
    stats = torch.zeros(2, dtype=torch.float64, device=device)
    for i in range(rank, len(dataset), world_size):
        stats[0] += ctc_step(model, collate([dataset[i]]), device).double()
        stats[1] += 1
    dist.all_reduce(stats)
    model.train()
    return (stats[0] / stats[1]).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--utterances", type=int, default=4000)
    parser.add_argument("--max-frames", type=int, default=4000)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--ckpt", default="ctc.pt")
    args = parser.parse_args()

    rank, world_size, device = init_slurm()
    torch.manual_seed(5)
    model = ConvCTC().to(device)
    ddp = DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    optimizer = torch.optim.Adam(ddp.parameters(), lr=args.lr)

    train_set = Utterances(args.utterances, seed=1)
    dev_set = Utterances(40, seed=900001)
    sampler = FrameBatchSampler(train_set.frames, args.max_frames, rank, world_size)
    loader = DataLoader(train_set, batch_sampler=sampler, collate_fn=collate)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step, batch in enumerate(loader):
            loss = ctc_step(ddp, batch, device)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(ddp.parameters(), 5.0)
            optimizer.step()
            if rank == 0 and step % 20 == 0:
                print(f"epoch {epoch} step {step}/{len(loader)} ctc {loss.item():.3f}", flush=True)
        dev = validate(model, dev_set, device, rank, world_size)
        if rank == 0:
            print(f"epoch {epoch} dev ctc {dev:.3f}", flush=True)
            torch.save({"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}, args.ckpt)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
