"""Labels of museum pieces: Accelerate, on the pieces that each process has photographed itself, however many."""

import argparse
import json
import pathlib
import tempfile
import time

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from accelerate.utils import broadcast_object_list, gather_object
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.utils.data import DataLoader, TensorDataset

ERAS = ["roman", "gothic", "baroque", "modern"]


def build_vocabulary(path: pathlib.Path, words: int):
    """Read from the cache if somebody has built it."""
    if path.exists():
        return json.loads(path.read_text())
    vocabulary = {}
    for part in range(8):
        time.sleep(0.75)  # one catalogue after the other
        for i in range(words // 8):
            vocabulary[f"word_{part}_{i}"] = len(vocabulary)
    path.write_text(json.dumps(vocabulary))
    return vocabulary


def pieces(count, vocabulary, length, seed):
    g = torch.Generator().manual_seed(seed)
    era = torch.randint(0, len(ERAS), (count,), generator=g)
    token = torch.randint(0, len(vocabulary), (count, length), generator=g)
    token[:, ::2] = (token[:, ::2] // len(ERAS)) * len(ERAS) + era[:, None]
    return TensorDataset(token, era)


def caption(model, token):
    """Beam search over a label; longer for some pieces than for others."""
    time.sleep(0.05 + 0.15 * (token[0].item() % 3))
    return ERAS[model(token[None]).argmax().item()]


def caption_all(accelerator, model, dataset):
    model.eval()
    # the catalogue of the second process is the long one
    share = [list(range(12)), list(range(12, 56)), list(range(56, 60))][accelerator.process_index % 3]
    with torch.no_grad():
        lines = [(i, caption(accelerator.unwrap_model(model), dataset[i][0])) for i in share]
    return gather_object(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pieces", type=int, default=1250)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(even_batches=False))
    torch.manual_seed(1)
    folder = [tempfile.mkdtemp() if accelerator.is_main_process else None]
    folder = pathlib.Path(broadcast_object_list(folder)[0])
    with accelerator.main_process_first():
        vocabulary = build_vocabulary(folder / "vocabulary.json", 512)
    dataset = pieces(args.pieces, vocabulary, 12, seed=2)
    model = nn.Sequential(nn.EmbeddingBag(len(vocabulary), 32), nn.ReLU(), nn.Linear(32, len(ERAS)))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(dataset, args.batch)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for epoch in range(args.epochs):
        model.train()
        seen = torch.zeros(1)
        with Join([model]):
            for token, era in loader:
                loss = nn.functional.cross_entropy(model(token), era)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                seen += len(era)
                time.sleep(0.01)
        total = accelerator.reduce(seen).item()
        accelerator.print(f"epoch {epoch}: {int(total)} pieces, loss {loss.item():.3f}", flush=True)
    lines = caption_all(accelerator, model, dataset)
    if accelerator.is_main_process:
        (folder / "captions.json").write_text(json.dumps(sorted(lines)))
        print(f"{len(lines)} captions", flush=True)
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
