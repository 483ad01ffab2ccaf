"""New knitting patterns from old ones: a small adversarial pair with Lightning's manual optimization."""

import argparse
import time

import lightning as L
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce

from patterns import MILLS, SIDE, Patterns


def mlp(*sizes):
    layers = []
    for before, after in zip(sizes, sizes[1:]):
        layers += [nn.Linear(before, after), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class Knitter(L.LightningModule):
    """Generator and critic take turns; a critic that is too sure pauses, so that the generator can catch up."""

    def __init__(self, latent=16, lr=1e-3, sure=0.72, warm=70):
        super().__init__()
        self.save_hyperparameters()
        self.automatic_optimization = False
        self.generator = mlp(latent, 64, SIDE * SIDE)
        self.critic = mlp(SIDE * SIDE, 64, 1)
        self.certainty = 0.5
        self.rounds = 0

    def forward(self, noise):
        return self.generator(noise)

    def draw(self, count):
        return self(torch.randn(count, self.hparams.latent))

    def critic_loss(self, real, fake):
        on_real, on_fake = self.critic(real), self.critic(fake.detach())
        right = torch.cat([on_real > 0, on_fake < 0]).float().mean().item()
        self.certainty = 0.8 * self.certainty + 0.2 * right
        return bce(on_real, torch.ones_like(on_real)) + bce(on_fake, torch.zeros_like(on_fake))

    def generator_loss(self, fake):
        verdict = self.critic(fake)
        return bce(verdict, torch.ones_like(verdict))

    def training_step(self, batch, batch_idx):
        (real,) = batch
        for_generator, for_critic = self.optimizers()
        fake = self.draw(len(real))

        loss = self.critic_loss(real, fake)
        self.rounds += 1
        if self.rounds <= self.hparams.warm or self.certainty < self.hparams.sure:
            for_critic.zero_grad()
            self.manual_backward(loss)
            for_critic.step()

        self.toggle_optimizer(for_generator)
        loss = self.generator_loss(fake)
        for_generator.zero_grad()
        self.manual_backward(loss)
        for_generator.step()
        self.untoggle_optimizer(for_generator)
        time.sleep(0.01)

    def on_train_epoch_end(self):
        self.log("certainty", self.certainty, sync_dist=True)

    def configure_optimizers(self):
        lr = self.hparams.lr
        return (
            torch.optim.Adam(self.generator.parameters(), lr=lr, betas=(0.5, 0.99)),
            torch.optim.Adam(self.critic.parameters(), lr=lr, betas=(0.5, 0.99)),
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patterns", type=int, default=1440)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--sure", type=float, default=0.72)
    args = parser.parse_args()
    torch.set_num_threads(1)
    L.seed_everything(5)
    trainer = L.Trainer(
        accelerator="cpu",
        devices=MILLS,
        strategy=DDPStrategy(find_unused_parameters=True, process_group_backend="gloo"),
        max_epochs=args.epochs,
        use_distributed_sampler=False,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Knitter(sure=args.sure), Patterns(args.patterns, args.batch))


if __name__ == "__main__":
    main()
