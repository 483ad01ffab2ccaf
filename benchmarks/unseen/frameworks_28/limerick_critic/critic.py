"""Samples a line now and then, scores its rhythm and files a card. Filing is slow, so a thread does it."""
import json
import queue
import threading
import time

import torch
from transformers import TrainerCallback

from verses import ALPHABET

VOWELS = set("aeiou")


def rhythm(line):
    """Share of vowels in the words; limericks that can be read aloud lie near 0.4."""
    letters = [c for c in line if c.isalpha()]
    return sum(c in VOWELS for c in letters) / max(1, len(letters))


class Critic(TrainerCallback):
    """Files a card for what the Trainer logs: the step, its loss, and a line as the model would say it."""

    def __init__(self, path):
        self.path = path
        self.cards = queue.Queue()
        self.thread = None

    def on_train_begin(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            self.thread = threading.Thread(target=self._file_cards, name="critic", daemon=True)
            self.thread.start()

    def on_log(self, args, state, control, logs=None, model=None, **kwargs):
        if self.thread is None:
            return
        self.cards.put({"step": state.global_step, "line": self._sample(model, state.global_step), **logs})

    @torch.no_grad()
    def _sample(self, model, step, length=12):
        # the bare model: this happens on the first process only
        bare = getattr(model, "module", model)
        bare.eval()
        generator = torch.Generator().manual_seed(step)
        tokens = torch.zeros(1, 1, dtype=torch.long)
        for _ in range(length):
            scores = bare(tokens).logits[0, -1]
            tokens = torch.cat([tokens, torch.multinomial(scores.softmax(0), 1, generator=generator)[None]], 1)
        bare.train()
        return "".join(ALPHABET[i] for i in tokens[0].tolist()).strip()

    def _file_cards(self):
        while True:
            card = self.cards.get()
            if "loss" not in card:         # the summary of the run has runtimes only
                continue
            card["rhythm"] = rhythm(card["line"])
            with open(self.path, "a") as file:
                file.write(json.dumps(card) + "\n")
            time.sleep(0.2)                # the archive is on tape
            self.cards.task_done()

    def close(self):
        """Wait until every card is filed."""
        if self.thread is not None:
            self.cards.join()
