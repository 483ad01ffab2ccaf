from dataclasses import dataclass

import torch

from rloo.reward import exact_answer


@dataclass
class Rollout:
    ids: torch.Tensor  # (P*K, prompt + completion)
    attention: torch.Tensor
    completion_mask: torch.Tensor  # same width as ids, 1 on generated tokens up to and including EOS
    completions: torch.Tensor  # (P*K, completion)
    rewards: torch.Tensor  # (P, K)


class Sampler:
    def __init__(self, accelerator, tokenizer, cfg):
        self.accelerator, self.tok, self.cfg = accelerator, tokenizer, cfg

    def _until_eos(self, completions):
        ended = (completions == self.tok.eos_token_id).int().cumsum(dim=1)
        before = torch.cat([torch.zeros_like(ended[:, :1]), ended[:, :-1]], dim=1)
        return (before == 0).long()

    @torch.no_grad()
    def collect(self, policy, questions, answers) -> Rollout:
        cfg = self.cfg
        chats = [
            self.tok.apply_chat_template([{"role": "user", "content": q}], tokenize=False, add_generation_prompt=True)
            for q in questions
        ]
        enc = self.tok(chats, return_tensors="pt", padding=True).to(self.accelerator.device)
        policy.eval()
        ids = policy.generate(
            **enc,
            do_sample=True,
            temperature=cfg.temperature,
            top_k=0,
            num_return_sequences=cfg.k,
            max_new_tokens=cfg.max_new_tokens,
            pad_token_id=self.tok.pad_token_id,
        )
        policy.train()
        width = enc["input_ids"].shape[1]
        completions = ids[:, width:]
        keep = self._until_eos(completions)
        prompt_att = enc["attention_mask"].repeat_interleave(cfg.k, dim=0)

        texts = self.tok.batch_decode(completions, skip_special_tokens=True)
        scores = [exact_answer(t, answers[i // cfg.k]) for i, t in enumerate(texts)]
        return Rollout(
            ids=ids,
            attention=torch.cat([prompt_att, keep], dim=1),
            completion_mask=torch.cat([torch.zeros_like(prompt_att), keep], dim=1),
            completions=completions,
            rewards=torch.tensor(scores, device=ids.device).view(-1, cfg.k),
        )

    def pooled(self, rollout):
        """Rewards and completions of all ranks, for the report."""
        rewards = self.accelerator.gather(rollout.rewards)
        completions = rollout.completions
        completions = self.accelerator.gather(completions)
        return rewards, completions

    def report(self, rewards, completions):
        texts = self.tok.batch_decode(completions, skip_special_tokens=True)
        flat = rewards.flatten()
        top = int(flat.argmax())
        return {
            "reward": flat.mean().item(),
            "solved": (rewards.max(dim=1).values > 0.5).float().mean().item(),
            "distinct": len(set(texts)) / len(texts),
            "best": texts[top][-120:],
        }
