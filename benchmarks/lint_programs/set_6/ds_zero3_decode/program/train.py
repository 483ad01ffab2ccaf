import argparse
import json

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

from evaluate import exact_match
from model import CausalLM
from sums import VOCAB, Sums


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--local_rank", type=int, default=-1)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--train-size", type=int, default=100_000)
    p.add_argument("--eval-size", type=int, default=2000)
    p.add_argument("--save-dir", default="ds_ckpt")
    p.add_argument("--load-tag", default=None)
    p = deepspeed.add_config_arguments(p)
    return p.parse_args()


def main():
    args = parse_args()
    deepspeed.init_distributed()
    with open(args.deepspeed_config) as f:
        config = json.load(f)
    torch.manual_seed(0)

    with deepspeed.zero.Init(config_dict_or_path=config):
        model = CausalLM(VOCAB)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    if args.load_tag:
        engine.load_checkpoint(args.save_dir, tag=args.load_tag)

    train_set, eval_set = Sums(args.train_size, seed=0), Sums(args.eval_size, seed=1)
    sampler = DistributedSampler(train_set, shuffle=True, seed=0, drop_last=True)
    micro = engine.train_micro_batch_size_per_gpu()
    train = DataLoader(train_set, micro, sampler=sampler, drop_last=True)
    evals = DataLoader(eval_set, micro * 2, sampler=DistributedSampler(eval_set, shuffle=False))

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step, (ids, labels) in enumerate(train):
            loss = engine(ids.to(engine.device), labels.to(engine.device))
            engine.backward(loss)
            engine.step()
            if step % 200 == 0 and dist.get_rank() == 0:
                print(f"epoch {epoch} micro-step {step} loss {loss.item():.4f}", flush=True)
        score = exact_match(engine, evals)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} exact match {score:.4f}", flush=True)
        engine.save_checkpoint(args.save_dir, tag=f"epoch{epoch}", client_state={"epoch": epoch})


if __name__ == "__main__":
    main()
