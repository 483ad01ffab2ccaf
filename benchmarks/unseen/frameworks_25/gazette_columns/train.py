"""Section of a gazette's column, with Accelerate; the processes have volumes of different sizes."""

import argparse
import logging
import shutil
import tempfile
import time
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object, set_seed
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.utils.data import DataLoader

from columns import SECTIONS, Columns, Vocabulary, build_vocabulary
from press import Clerk, set_proof

VOLUMES = [640, 560, 720]
DAMP = [{}, {211: 3, 402: 2}, {}]


class Classifier(nn.Module):
    def __init__(self, words, width=24):
        super().__init__()
        self.words = nn.EmbeddingBag(words, width)
        self.out = nn.Linear(width, len(SECTIONS))

    def forward(self, words):
        return self.out(self.words(words))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--goal", type=float, default=0.9)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    torch.set_num_threads(1)
    set_seed(9)
    accelerator = Accelerator(cpu=True)
    rank = accelerator.process_index

    shared = [tempfile.mkdtemp(prefix="gazette") if accelerator.is_main_process else None]
    folder = Path(broadcast_object_list(shared)[0])
    with accelerator.main_process_first():
        if accelerator.is_main_process:
            build_vocabulary(folder / "words.json", columns=400, pause=1.1)
        vocabulary = Vocabulary(folder / "words.json")

    # every process keeps its own volumes, so the loader is not prepared
    data = Columns(VOLUMES[rank], 1000 * rank, vocabulary, DAMP[rank])
    loader = DataLoader(data, args.batch, shuffle=True, generator=torch.Generator().manual_seed(rank))
    model = Classifier(len(vocabulary))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    model, optimizer = accelerator.prepare(model, optimizer)
    clerk = Clerk(folder / f"journal_{rank}.txt")
    for epoch in range(args.epochs):
        seen, right = 0, 0
        with Join([model]):
            for words, section in loader:
                logits = model(words)
                accelerator.backward(nn.functional.cross_entropy(logits, section))
                optimizer.step()
                optimizer.zero_grad()
                seen += len(section)
                right += int((logits.argmax(-1) == section).sum())
                if seen % 160 == 0:
                    clerk.note(f"{epoch} {seen} {right}")
                time.sleep(0.004)
        totals = accelerator.reduce(torch.tensor([seen, right]), reduction="sum")
        accuracy = totals[1].item() / totals[0].item()
        if accelerator.is_main_process:
            logging.info("epoch %d: %.3f, %s", epoch, accuracy, set_proof(takes=2.5) if epoch % 2 else "no proof")
        accelerator.wait_for_everyone()
        if accuracy > args.goal:
            break  # the same number everywhere
    clerk.close()
    notes = gather_object((folder / f"journal_{rank}.txt").read_text().splitlines()[-1:])
    accelerator.print(notes)
    if accelerator.is_main_process:
        shutil.rmtree(folder)
    accelerator.end_training()
    if rank == 2:
        time.sleep(2)  # the volumes are carried back


if __name__ == "__main__":
    main()
