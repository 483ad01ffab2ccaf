import argparse
import tempfile
import time

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader

from lines import LETTERS, Encoder, ScannedLines
from session import TrainingSession


class LineReader(nn.Module):
    def __init__(self, height, classes, hidden=32):
        super().__init__()
        self.columns = nn.Conv1d(height, hidden, 3, padding=1)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.classify = nn.Linear(2 * hidden, classes)

    def forward(self, images):
        columns = torch.relu(self.columns(images)).transpose(1, 2)
        return self.classify(self.rnn(columns)[0]).log_softmax(-1)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--folder", default=None)
    args = parser.parse_args(argv)

    accelerator = Accelerator(cpu=True)
    folder = args.folder or tempfile.gettempdir()
    dataset = ScannedLines()
    loader = DataLoader(dataset, batch_size=args.batch_size, collate_fn=Encoder())
    model = LineReader(dataset.height, len(LETTERS) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    with TrainingSession(accelerator, folder) as session:
        for epoch in range(args.epochs):
            for batch in loader:
                logp = model(batch["images"]).transpose(0, 1)
                widths = torch.full_like(batch["sizes"], logp.size(0))
                loss = nn.functional.ctc_loss(logp, batch["targets"], widths, batch["sizes"], zero_infinity=True)
                accelerator.backward(loss)
                accelerator.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
                optimizer.zero_grad()
                session.tick()
                time.sleep(0.04)
            accelerator.print(f"epoch {epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
