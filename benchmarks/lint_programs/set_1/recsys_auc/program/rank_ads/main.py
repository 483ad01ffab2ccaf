import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from . import comm, options
from .evaluate import validate
from .logs import Impressions
from .net import DeepFM


def main():
    opt = options.parse()
    device = comm.start()
    torch.manual_seed(opt.seed)
    chatty = comm.rank() == 0

    train = Impressions(opt.train_dir, device)
    valid = Impressions([opt.valid_dir], device)
    steps = comm.smallest(len(train) // opt.batch_size, device)
    if chatty:
        print(f"{steps} steps per pass, {comm.size()} processes", flush=True)

    net = DeepFM(opt.fields, opt.dense, opt.buckets, opt.dim).to(device)
    ddp = DistributedDataParallel(net, device_ids=[device.index])
    optim = torch.optim.Adagrad(ddp.parameters(), lr=opt.lr)
    generator = torch.Generator().manual_seed(opt.seed + comm.rank())

    for p in range(opt.passes):
        tic = time.time()
        for cat, num, click in train.shuffled(opt.batch_size, steps, generator):
            loss = F.binary_cross_entropy_with_logits(ddp(cat, num), click)
            optim.zero_grad()
            loss.backward()
            optim.step()
        report = validate(net, valid, opt.batch_size)
        if chatty:
            text = " ".join(f"{k}={v:.5f}" for k, v in report.items())
            print(f"pass {p}: {text} ({time.time() - tic:.0f}s)", flush=True)

    if chatty:
        torch.save(net.state_dict(), opt.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
