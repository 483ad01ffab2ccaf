"""Bird calls from spectrogram clips, with Accelerate; the sightings of a rare species are listed after each epoch."""
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, Dataset

from report import SightingReport

SPECIES = 8
BITTERN = 7
EPOCHS = 4


class Clips(Dataset):
    """Clips in the order of recording; the recorders were moved once during the season."""

    def __init__(self, count, seed, calls):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, SPECIES - 1, (count,), generator=g)
        self.labels[list(calls)] = BITTERN
        self.pitch = torch.linspace(2, 30, SPECIES)
        self.noise = torch.randn(count, 1, 32, 24, generator=g)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        rows = torch.arange(32.0)[:, None]
        call = torch.exp(-((rows - self.pitch[self.labels[i]]) ** 2) / 6)
        return i, self.noise[i] * 0.7 + call, self.labels[i]


class CallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.AdaptiveAvgPool2d((8, 1)), nn.Flatten(),
        )
        self.head = nn.Linear(128, SPECIES)

    def forward(self, clips):
        return self.head(self.features(clips))


def train_epoch(accelerator, model, optimizer, loader):
    model.train()
    for _, clips, labels in loader:
        loss = nn.functional.cross_entropy(model(clips), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    return loss.detach()


@torch.no_grad()
def validate(accelerator, model, loader, report):
    model.eval()
    right = total = 0
    for ids, clips, labels in loader:
        scores = model(clips).softmax(dim=1)
        report.add(ids, labels, scores)
        guesses, truth = accelerator.gather_for_metrics((scores.argmax(dim=1), labels))
        right += (guesses == truth).sum().item()
        total += len(truth)
    return right / total


def main():
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True)
    train = Clips(1920, seed=1, calls=range(0, 1920, 9))
    held_out = Clips(480, seed=2, calls=[3, 7, 20, 25, 50, 70, 101, 118, 150, 165])
    model = CallNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    model, optimizer, train_loader, held_out_loader = accelerator.prepare(
        model, optimizer, DataLoader(train, batch_size=16, shuffle=True), DataLoader(held_out, batch_size=16)
    )
    report = SightingReport(accelerator, BITTERN)
    for epoch in range(EPOCHS):
        loss = train_epoch(accelerator, model, optimizer, train_loader)
        accuracy = validate(accelerator, model, held_out_loader, report)
        report.publish(epoch)
        accelerator.print(f"epoch {epoch}: loss {loss:.3f} accuracy {accuracy:.3f}")
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()
