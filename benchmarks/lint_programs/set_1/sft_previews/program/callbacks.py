import pathlib
import time

import torch
from transformers import TrainerCallback


class PreviewCallback(TrainerCallback):
    """Greedy answers to a fixed list of questions after each evaluation."""

    def __init__(self, tokenizer, questions, folder, max_new_tokens=160):
        self.tok = tokenizer
        self.questions = questions
        self.path = pathlib.Path(folder) / "previews.md"
        self.max_new_tokens = max_new_tokens

    @torch.no_grad()
    def _answers(self, model):
        was_training = model.training
        model.eval()
        answers = []
        for question in self.questions:
            enc = self.tok(f"[INST] {question} [/INST]", return_tensors="pt").to(model.device)
            out = model.generate(**enc, do_sample=False, max_new_tokens=self.max_new_tokens, use_cache=True)
            answers.append(self.tok.decode(out[0, enc["input_ids"].shape[1] :], skip_special_tokens=True))
        model.train(was_training)
        return answers

    def _write(self, step, answers):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as fh:
            fh.write(f"\n## step {step}\n")
            for q, a in zip(self.questions, answers):
                fh.write(f"\n**{q}**\n\n{a.strip()}\n")

    def on_evaluate(self, args, state, control, model=None, **kwargs):
        if state.is_world_process_zero:
            answers = self._answers(model)
            self._write(state.global_step, answers)


class StepTimer(TrainerCallback):
    def __init__(self):
        self.started, self.spans = None, []

    def on_step_begin(self, args, state, control, **kwargs):
        self.started = time.perf_counter()

    def on_step_end(self, args, state, control, **kwargs):
        self.spans.append(time.perf_counter() - self.started)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero and self.spans and logs is not None and "loss" in logs:
            print(f"step {state.global_step}: {sum(self.spans) / len(self.spans):.2f} s/step", flush=True)
        self.spans.clear()
