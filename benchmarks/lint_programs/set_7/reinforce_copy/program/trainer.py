import copy

import torch

from rewards import copy_reward, group_advantages, token_logprobs


class PolicyTrainer:
    def __init__(self, cfg, accelerator, model, optimizer, loader):
        self.cfg = cfg
        self.accelerator = accelerator
        self.ref = copy.deepcopy(model).to(accelerator.device).eval().requires_grad_(False)
        self.model, self.optimizer, self.loader = accelerator.prepare(model, optimizer, loader)
        self.policy = accelerator.unwrap_model(self.model)
        self.stream = self._batches()

    def _batches(self):
        while True:
            yield from self.loader

    def rollout(self, prompts):
        prompts = prompts.repeat_interleave(self.cfg.group_size, dim=0)
        self.policy.eval()
        tokens = self.policy.generate(prompts, self.cfg.max_new_tokens, self.cfg.temperature)
        rewards = copy_reward(prompts, tokens[:, prompts.size(1) :])
        with torch.no_grad():
            ref_logp = token_logprobs(self.ref, tokens, prompts.size(1))
        return tokens, rewards, ref_logp

    def update(self, tokens, advantages, ref_logp, prompt_len):
        self.model.train()
        for chunk in torch.arange(tokens.size(0)).chunk(self.cfg.minibatches):
            logp = token_logprobs(self.policy, tokens[chunk], prompt_len)
            delta = ref_logp[chunk] - logp
            kl = (delta.exp() - delta - 1).mean()
            pg = -(advantages[chunk].unsqueeze(1) * logp).mean()
            loss = pg + self.cfg.kl_coef * kl
            self.accelerator.backward(loss)
            self.accelerator.clip_grad_norm_(self.model.parameters(), self.cfg.max_grad_norm)
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss.detach(), kl.detach()

    def step(self):
        (prompts,) = next(self.stream)
        tokens, rewards, ref_logp = self.rollout(prompts)
        advantages = group_advantages(rewards, self.cfg.group_size)
        loss, kl = self.update(tokens, advantages, ref_logp, prompts.size(1))
        stats = torch.stack([rewards.mean(), loss, kl])
        reward, loss, kl = self.accelerator.reduce(stats, reduction="mean").tolist()
        return {"reward": reward, "loss": loss, "kl": kl}

    def save(self, path):
        self.accelerator.wait_for_everyone()
        self.accelerator.save(self.accelerator.unwrap_model(self.model).state_dict(), path)
