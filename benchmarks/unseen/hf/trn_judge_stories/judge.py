"""Samples from the model in training, scored by a (slow) judge."""
import queue
import threading
import time

import torch
from transformers import TrainerCallback


class Judge:
    """The judge takes its time; its answers are fetched from a queue."""

    def __init__(self, seconds_per_story=1.6):
        self.requests, self.answers = queue.Queue(), queue.Queue()
        self.seconds = seconds_per_story
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while True:
            number, story = self.requests.get()
            for _ in range(int(self.seconds / 0.1)):
                time.sleep(0.1)
            self.answers.put((number, len(set(story)) / len(story)))

    def score(self, stories):
        for item in enumerate(stories):
            self.requests.put(item)
        scores = {}
        while len(scores) < len(stories):
            try:
                number, value = self.answers.get(timeout=0.25)
            except queue.Empty:
                continue
            scores[number] = value
        return sum(scores.values()) / len(scores)


class JudgeCallback(TrainerCallback):
    def __init__(self, judge, at_step, stories=12, length=10):
        self.judge, self.at_step = judge, at_step
        self.stories, self.length = stories, length

    @torch.no_grad()
    def _write(self, model):
        model.eval()
        ids = torch.arange(self.stories).unsqueeze(1)
        while ids.shape[1] < self.length:
            logits = model(input_ids=ids).logits[:, -1]
            ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)], 1)
        model.train()
        return ids.tolist()

    def on_step_end(self, args, state, control, model=None, **kwargs):
        if state.global_step == self.at_step and state.is_world_process_zero:
            began = time.time()
            score = self.judge.score(self._write(model))
            print(f"judge: {score:.3f} after {time.time() - began:.0f} s", flush=True)
