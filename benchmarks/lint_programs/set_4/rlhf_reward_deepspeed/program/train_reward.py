import argparse
import os

import deepspeed
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoTokenizer, set_seed

from reward import PairCollator, Preferences, RewardModel


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", required=True)
    p.add_argument("--base", default="gpt2-medium")
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--max-length", type=int, default=512)
    p.add_argument("--save-every", type=int, default=500, help="micro steps")
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--out", default="reward_ckpt")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--local_rank", type=int, default=-1)
    return deepspeed.add_config_arguments(p).parse_args()


def main():
    args = get_args()
    deepspeed.init_distributed()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    set_seed(args.seed)

    tokenizer = AutoTokenizer.from_pretrained(args.base)
    tokenizer.padding_side = "right"
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = RewardModel(args.base)
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())

    data = Preferences(args.data)
    sampler = DistributedSampler(data, shuffle=True, seed=args.seed, drop_last=True)
    loader = DataLoader(data, engine.train_micro_batch_size_per_gpu(), sampler=sampler, drop_last=True,
                        collate_fn=PairCollator(tokenizer, args.max_length))

    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        engine.train()
        for batch in loader:
            batch = {k: v.to(engine.device) for k, v in batch.items()}
            chosen, rejected = engine(**batch).float().chunk(2)
            loss = -F.logsigmoid(chosen - rejected).mean()
            engine.backward(loss)
            engine.step()
            step += 1

            if step % args.log_every == 0:
                stats = torch.stack([loss.detach(), (chosen > rejected).float().mean()])
                dist.all_reduce(stats)
                stats /= dist.get_world_size()
                if dist.get_rank() == 0:
                    print(f"step {step} loss {stats[0].item():.4f} acc {stats[1].item():.3f}", flush=True)

            if step % args.save_every == 0 and dist.get_rank() == 0:
                engine.save_checkpoint(args.out, tag=f"step_{step}", client_state={"step": step, "epoch": epoch})

    engine.save_checkpoint(args.out, tag="final", client_state={"step": step, "epoch": args.epochs})
    if dist.get_rank() == 0:
        tokenizer.save_pretrained(args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
