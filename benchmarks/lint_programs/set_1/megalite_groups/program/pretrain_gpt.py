import os
import time

import numpy as np
import torch
from torch.nn.parallel import DistributedDataParallel

from megalite import parallel_state as mpu
from megalite.arguments import parse_args
from megalite.model import GPTModel


class TokenStream:
    """Random windows; the ranks of one tensor-parallel group draw the same ones."""

    def __init__(self, args):
        self.tokens = np.load(args.data_path, mmap_mode="r")
        self.shape = args.micro_batch_size, args.seq_length
        self.rng = np.random.default_rng([args.seed, mpu.get_data_parallel_rank()])

    def next(self):
        b, s = self.shape
        starts = self.rng.integers(0, len(self.tokens) - s, size=b)
        rows = np.stack([self.tokens[i:i + s + 1] for i in starts]).astype(np.int64)
        rows = torch.from_numpy(rows).cuda(non_blocking=True)
        return rows[:, :-1], rows[:, 1:]


def save_checkpoint(args, model, iteration):
    if mpu.get_data_parallel_rank() == 0:
        folder = os.path.join(args.save, f"iter_{iteration:07d}")
        os.makedirs(folder, exist_ok=True)
        name = f"mp_rank_{mpu.get_tensor_model_parallel_rank():02d}.pt"
        torch.save({"iteration": iteration, "model": model.module.state_dict()},
                   os.path.join(folder, name))
    torch.distributed.barrier()


def training_log(args, iteration, loss, seconds):
    loss = loss.detach().clone()
    torch.distributed.all_reduce(loss, group=mpu.get_data_parallel_group())
    loss /= mpu.get_data_parallel_world_size()
    tokens = args.micro_batch_size * args.seq_length * args.log_interval
    speeds = mpu.gather_from_leaders(tokens / seconds)
    if torch.distributed.get_rank() == 0:
        print(f" iteration {iteration:8d}/{args.train_iters:8d} | lm loss {loss.item():.6E} | "
              f"tokens/s {sum(speeds):.0f} (slowest replica {min(speeds):.0f})", flush=True)


def main():
    args = parse_args()
    torch.cuda.set_device(args.local_rank)
    torch.distributed.init_process_group(backend="nccl")
    mpu.initialize_model_parallel(args.tensor_model_parallel_size)
    torch.manual_seed(args.seed)

    model = GPTModel(args).cuda()
    model = DistributedDataParallel(model, device_ids=[args.local_rank],
                                    process_group=mpu.get_data_parallel_group())
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.95))
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda it: min(1.0, (it + 1) / args.lr_warmup_iters))
    stream = TokenStream(args)

    tic = time.time()
    for iteration in range(1, args.train_iters + 1):
        tokens, labels = stream.next()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(tokens, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if iteration % args.log_interval == 0:
            training_log(args, iteration, loss, time.time() - tic)
            tic = time.time()
        if iteration % args.save_interval == 0 or iteration == args.train_iters:
            save_checkpoint(args, model, iteration)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
