import argparse
import json

import deepspeed
import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM, AutoTokenizer, set_seed
from transformers.integrations import HfDeepSpeedConfig

from prompts import length_and_format_reward, prompt_loader
from rollout import completion_logprobs, sample


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--local_rank", type=int, default=-1)
    p.add_argument("--model", default="Qwen/Qwen2.5-3B")
    p.add_argument("--prompts", default="prompts.txt")
    p.add_argument("--ds_config", default="ds_config.json")
    p.add_argument("--max_prompt_len", type=int, default=128)
    p.add_argument("--max_new_tokens", type=int, default=256)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--save_every", type=int, default=200)
    p.add_argument("--output", default="ckpt")
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def main():
    args = parse_args()
    deepspeed.init_distributed()
    rank = dist.get_rank()
    with open(args.ds_config) as f:
        ds_config = json.load(f)
    keep_alive = HfDeepSpeedConfig(ds_config)
    set_seed(args.seed + rank)

    tokenizer = AutoTokenizer.from_pretrained(args.model, padding_side="left")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16)
    engine, _, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=ds_config)
    loader, sampler = prompt_loader(
        args.prompts, tokenizer, ds_config["train_micro_batch_size_per_gpu"], args.max_prompt_len, args.seed
    )

    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for ids, attn in loader:
            ids, attn = ids.to(engine.device), attn.to(engine.device)
            tokens, mask = sample(
                engine, ids, attn, args.max_new_tokens, tokenizer.eos_token_id, tokenizer.pad_token_id
            )
            texts = tokenizer.batch_decode(tokens[:, ids.size(1) :], skip_special_tokens=True)
            rewards = length_and_format_reward(texts).to(engine.device)

            baseline = rewards.mean()
            dist.all_reduce(baseline)
            baseline /= dist.get_world_size()
            logp, weight = completion_logprobs(engine, tokens, mask, ids.size(1))
            per_sample = (logp * weight).sum(1) / weight.sum(1).clamp_min(1)
            loss = -((rewards - baseline) * per_sample).mean()
            engine.backward(loss)
            engine.step()

            step += 1
            if step % 10 == 0 and rank == 0:
                print(f"step {step} reward {baseline.item():.3f}", flush=True)
            if step % args.save_every == 0:
                engine.save_checkpoint(args.output, tag=f"step{step}")
    engine.save_16bit_model(args.output)


if __name__ == "__main__":
    main()
