"""Reading order of cartoon panels: a score for each panel from its layout, learnt chapter by chapter."""

import argparse
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import Dataset, SequentialSampler
from transformers import Trainer, TrainingArguments

from lessons import Lesson, NextChapter

LAYOUT = 12


class Panels(Dataset):
    """Panels of strips by several draughtsmen, who take turns every `run` panels; some draw tidier pages."""

    def __init__(self, count, seed, run, untidiness=(0.8, 0.7, 0.1)):
        g = torch.Generator().manual_seed(seed)
        self.layout = torch.randn(count, LAYOUT, generator=g)
        rule = torch.randn(LAYOUT, generator=torch.Generator().manual_seed(0)) / LAYOUT**0.5
        drawn_by = torch.arange(count) // run % len(untidiness)
        noise = torch.tensor(untidiness)[drawn_by] * torch.randn(count, generator=g)
        self.place = self.layout @ rule + noise

    def __len__(self):
        return len(self.place)

    def __getitem__(self, i):
        return {"layout": self.layout[i], "place": self.place[i]}


class PanelOrder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LAYOUT, width), nn.SiLU(), nn.Linear(width, 1))

    def forward(self, layout, place):
        score = self.net(layout).squeeze(-1)
        return {"loss": nn.functional.mse_loss(score, place), "scores": score}


class ChapterTrainer(Trainer):
    def __init__(self, *args, lesson, **kwargs):
        super().__init__(*args, **kwargs)
        self.lesson = lesson

    def _get_train_sampler(self, train_dataset=None):
        return SequentialSampler(self.train_dataset)

    def training_step(self, *args, **kwargs):
        loss = super().training_step(*args, **kwargs)
        self.lesson.add(loss.item())
        time.sleep(0.02)  # rendering of the next pages
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--panels", type=int, default=2880)
    parser.add_argument("--chapters", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--learnt", type=float, default=0.12)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(6)
    lesson = Lesson()
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=options.batch,
            per_device_eval_batch_size=options.batch,
            num_train_epochs=options.chapters,
            learning_rate=2e-3,
            lr_scheduler_type="constant",
            eval_strategy="epoch",
            logging_strategy="epoch",
            save_strategy="no",
            label_names=["place"],
            report_to=[],
            use_cpu=True,
            ddp_backend="gloo",
            disable_tqdm=True,
        )
        trainer = ChapterTrainer(
            model=PanelOrder(),
            args=args,
            train_dataset=Panels(options.panels, seed=1, run=options.batch),
            eval_dataset=Panels(240, seed=2, run=options.batch),
            callbacks=[NextChapter(lesson, options.learnt)],
            lesson=lesson,
        )
        trainer.train()
        if trainer.is_world_process_zero():
            print(trainer.state.log_history[-1])


if __name__ == "__main__":
    main()
