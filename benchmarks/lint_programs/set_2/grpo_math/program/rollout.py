from dataclasses import dataclass

import torch

from rewards import score


@dataclass
class Rollout:
    ids: torch.Tensor
    attn: torch.Tensor
    comp_mask: torch.Tensor
    adv: torch.Tensor
    old_logp: torch.Tensor


def token_logps(model, ids, attn):
    logits = model(input_ids=ids, attention_mask=attn).logits[:, :-1].float()
    return logits.log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)


class RolloutWorker:
    def __init__(self, model, tok, group_size, max_new, device, min_std=1e-4):
        self.model, self.tok = model, tok
        self.group_size, self.max_new = group_size, max_new
        self.device, self.min_std = device, min_std

    @torch.no_grad()
    def collect(self, prompts, answers):
        enc = self.tok(prompts, return_tensors="pt", padding=True, padding_side="left").to(self.device)
        self.model.eval()
        ids = self.model.generate(
            **enc, do_sample=True, temperature=1.0, top_k=0, max_new_tokens=self.max_new,
            num_return_sequences=self.group_size, pad_token_id=self.tok.pad_token_id,
        )
        self.model.train()
        plen = enc["input_ids"].size(1)
        comp = ids[:, plen:]
        after_eos = (comp == self.tok.eos_token_id).cumsum(1).sub((comp == self.tok.eos_token_id).long()) > 0
        cmask = (~after_eos).long()
        attn = torch.cat([enc["attention_mask"].repeat_interleave(self.group_size, 0), cmask], 1)

        texts = self.tok.batch_decode(comp, skip_special_tokens=True)
        ans = [a for a in answers for _ in range(self.group_size)]
        r = torch.tensor([score(t, a) for t, a in zip(texts, ans)], device=self.device)
        r = r.view(-1, self.group_size)
        std = r.std(1, keepdim=True)
        mean_reward = r.mean()

        keep = (std.squeeze(1) > self.min_std).repeat_interleave(self.group_size)
        if not keep.any():
            return None, mean_reward
        adv = ((r - r.mean(1, keepdim=True)) / (std + 1e-6)).flatten()
        ids, attn, cmask, adv = ids[keep], attn[keep], cmask[keep], adv[keep]
        full = torch.cat([torch.zeros_like(ids[:, :plen]), cmask], 1)[:, 1:]
        old = token_logps(self.model, ids, attn)
        return Rollout(ids, attn, full, adv, old), mean_reward
