import itertools
import json

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, AutoTokenizer

from rloo.config import RLOOConfig
from rloo.reward import leave_one_out
from rloo.rollout import Sampler


def split_rows(rows):
    return [r["question"] for r in rows], [int(r["answer"]) for r in rows]


def sequence_logprob(model, rollout, temperature):
    position = (rollout.attention.cumsum(dim=1) - 1).clamp(min=0)
    logits = model(input_ids=rollout.ids, attention_mask=rollout.attention, position_ids=position).logits
    logp = torch.log_softmax(logits[:, :-1].float() / temperature, dim=-1)
    picked = logp.gather(-1, rollout.ids[:, 1:].unsqueeze(-1)).squeeze(-1)
    return (picked * rollout.completion_mask[:, 1:]).sum(dim=1)


def main():
    cfg = RLOOConfig.from_cli()
    accelerator = Accelerator()
    set_seed(cfg.seed, device_specific=True)

    with accelerator.main_process_first():
        tok = AutoTokenizer.from_pretrained(cfg.model, padding_side="left")
        model = AutoModelForCausalLM.from_pretrained(cfg.model)
    if tok.pad_token_id is None:
        tok.pad_token = tok.eos_token

    with open(cfg.problems) as fh:
        problems = [json.loads(line) for line in fh]
    loader = DataLoader(problems, cfg.prompts_per_rank, shuffle=True, drop_last=True, collate_fn=split_rows)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=0.0)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    sampler = Sampler(accelerator, tok, cfg)
    stream = itertools.chain.from_iterable(loader for _ in itertools.count())
    for update in range(1, cfg.updates + 1):
        questions, answers = next(stream)
        rollout = sampler.collect(accelerator.unwrap_model(model), questions, answers)
        advantage = leave_one_out(rollout.rewards).flatten()

        logp = sequence_logprob(model, rollout, cfg.temperature)
        loss = -(advantage * logp).mean()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

        if update % cfg.show_every == 0:
            rewards, completions = sampler.pooled(rollout)
            if accelerator.is_main_process:
                print(update, json.dumps(sampler.report(rewards, completions)), flush=True)

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        accelerator.unwrap_model(model).save_pretrained(cfg.out)
        tok.save_pretrained(cfg.out)
    accelerator.end_training()


if __name__ == "__main__":
    main()
