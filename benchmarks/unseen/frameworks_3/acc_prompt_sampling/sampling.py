from __future__ import annotations

import dataclasses
import time

import torch
from accelerate.utils import gather_object

from lm import VOCAB, decode, encode


@dataclasses.dataclass
class Generation:
    prompt: str
    text: str
    rank: int


class PromptSampler:
    """Greedy continuations of a fixed prompt sheet, spread over the processes.

    Rows are collected as they come so that the sheet on the main process is always complete
    up to the current prompt (somebody is usually watching it).
    """

    def __init__(self, accelerator, prompts, max_new_tokens=12):
        self.accelerator = accelerator
        self.prompts = list(prompts)
        self.max_new_tokens = max_new_tokens
        self.sheet: list[Generation] = []

    @torch.no_grad()
    def _continue(self, model, prompt):
        ids = encode(prompt).unsqueeze(0).to(self.accelerator.device)
        for _ in range(self.max_new_tokens):
            ids = torch.cat([ids, model(ids)[:, -1].argmax(-1, keepdim=True) % VOCAB], dim=1)
        time.sleep(0.05)
        return decode(ids[0])

    def __call__(self, model):
        unwrapped = self.accelerator.unwrap_model(model)
        unwrapped.eval()
        self.sheet.clear()
        with self.accelerator.split_between_processes(self.prompts) as shard:
            for prompt in shard:
                row = Generation(prompt, self._continue(unwrapped, prompt), self.accelerator.process_index)
                self.sheet.extend(gather_object([row]))
        unwrapped.train()
        return self.sheet
