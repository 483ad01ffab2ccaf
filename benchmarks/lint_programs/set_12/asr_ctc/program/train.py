"""CTC recogniser; a job ends after --max-steps and the next one goes on from there."""
import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader

from progress import Progress
from sampler import ResumableSampler
from speech import Recogniser, Utterances, ctc


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--max-steps", type=int, default=10**9, help="steps of this job")
    p.add_argument("--batch-size", type=int, default=16, help="per rank")
    p.add_argument("--utterances", type=int, default=640)
    p.add_argument("--letters", type=int, default=12)
    p.add_argument("--mels", type=int, default=16)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--ckpt", default="asr.pt")
    return p.parse_args()


def save(path, net, optimizer, progress):
    if dist.get_rank() == 0:
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(),
                    "progress": progress.state_dict()}, path + ".tmp")
        os.replace(path + ".tmp", path)
    dist.barrier()


def main():
    args = parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local_rank)
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)

    data = Utterances(args.utterances, args.letters, 5, args.mels)
    sampler = ResumableSampler(len(data), rank, world, args.seed)
    loader = DataLoader(data, batch_size=args.batch_size, sampler=sampler, drop_last=True)
    net = Recogniser(args.mels, args.letters, args.hidden).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    progress = Progress()
    if os.path.exists(args.ckpt):
        state = torch.load(args.ckpt, map_location="cpu", weights_only=True)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        progress = Progress(**state["progress"])
        if rank == 0:
            print(f"going on: {progress}", flush=True)
    model = DDP(net, device_ids=[local_rank] if cuda else None)

    steps_left = args.max_steps
    while progress.epoch < args.epochs and steps_left > 0:
        sampler.set_epoch(progress.epoch)
        if progress.seen:
            sampler.fast_forward(progress.seen)
        model.train()
        total = torch.zeros(2, device=device)
        finished = True
        for frames, text in loader:
            if steps_left == 0:
                finished = False
                break
            frames, text = frames.to(device), text.to(device)
            loss = ctc(model(frames), text)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            progress.advance(text.size(0) * world)
            steps_left -= 1
            total[0] += loss.detach()
            total[1] += 1
        dist.all_reduce(total)
        if rank == 0:
            print(f"epoch {progress.epoch} step {progress.step} utterances {progress.seen_total} "
                  f"loss {(total[0] / total[1].clamp(min=1)).item():.4f}", flush=True)
        if finished:
            progress.next_epoch()
        save(args.ckpt, net, optimizer, progress)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
