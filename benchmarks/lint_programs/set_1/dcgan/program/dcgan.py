from __future__ import print_function

import argparse
import os
import random

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.optim as optim
import torchvision.datasets as dset
import torchvision.transforms as transforms
import torchvision.utils as vutils
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

parser = argparse.ArgumentParser()
parser.add_argument('--dataroot', default='./data', help='path to dataset')
parser.add_argument('--workers', type=int, default=2, help='number of data loading workers')
parser.add_argument('--batchSize', type=int, default=64, help='batch size per GPU')
parser.add_argument('--nz', type=int, default=100, help='size of the latent z vector')
parser.add_argument('--ngf', type=int, default=64)
parser.add_argument('--ndf', type=int, default=64)
parser.add_argument('--niter', type=int, default=25, help='number of epochs to train for')
parser.add_argument('--lr', type=float, default=0.0002)
parser.add_argument('--beta1', type=float, default=0.5)
parser.add_argument('--outf', default='./samples', help='folder for images and checkpoints')
parser.add_argument('--manualSeed', type=int, default=999)


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, nz, ngf):
        super(Generator, self).__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 4),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, ndf):
        super(Discriminator, self).__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1),
            nn.GroupNorm(8, ndf * 2),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1),
            nn.GroupNorm(8, ndf * 4),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ndf * 4, 1, 4, 1, 0),
        )

    def forward(self, x):
        return self.main(x).view(-1)


def get_dataset(root):
    transform = transforms.Compose([
        transforms.Resize(32),
        transforms.ToTensor(),
        transforms.Normalize((0.5,), (0.5,)),
    ])
    return dset.FashionMNIST(root, train=True, download=True, transform=transform)


def main():
    opt = parser.parse_args()
    local_rank = int(os.environ['LOCAL_RANK'])
    torch.cuda.set_device(local_rank)
    dist.init_process_group('nccl')
    rank = dist.get_rank()
    device = torch.device('cuda', local_rank)

    # latent codes have to differ between the processes
    random.seed(opt.manualSeed + rank)
    torch.manual_seed(opt.manualSeed + rank)
    os.makedirs(opt.outf, exist_ok=True)

    dataset = get_dataset(opt.dataroot)
    sampler = DistributedSampler(dataset, shuffle=True, seed=opt.manualSeed)
    dataloader = DataLoader(dataset, batch_size=opt.batchSize, sampler=sampler, drop_last=True,
                            num_workers=opt.workers, pin_memory=True)

    netG = Generator(opt.nz, opt.ngf).to(device)
    netG.apply(weights_init)
    netD = Discriminator(opt.ndf).to(device)
    netD.apply(weights_init)
    netG = DDP(netG, device_ids=[local_rank])
    netD = DDP(netD, device_ids=[local_rank])

    criterion = nn.BCEWithLogitsLoss()
    fixed_noise = torch.randn(64, opt.nz, 1, 1, device=device)
    optimizerD = optim.Adam(netD.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))
    optimizerG = optim.Adam(netG.parameters(), lr=opt.lr, betas=(opt.beta1, 0.999))

    for epoch in range(opt.niter):
        sampler.set_epoch(epoch)
        netG.train()
        for i, (real, _) in enumerate(dataloader):
            real = real.to(device, non_blocking=True)
            n = real.size(0)
            ones = torch.ones(n, device=device)
            zeros = torch.zeros(n, device=device)

            # (1) Update D: maximize log(D(x)) + log(1 - D(G(z)))
            noise = torch.randn(n, opt.nz, 1, 1, device=device)
            fake = netG(noise)
            logits = netD(torch.cat([real, fake.detach()]))
            errD = criterion(logits[:n], ones) + criterion(logits[n:], zeros)
            optimizerD.zero_grad()
            errD.backward()
            optimizerD.step()

            # (2) Update G: maximize log(D(G(z)))
            errG = criterion(netD(fake), ones)
            optimizerG.zero_grad()
            errG.backward()
            optimizerG.step()

            if rank == 0 and i % 100 == 0:
                print('[%d/%d][%d/%d] rank 0: Loss_D: %.4f Loss_G: %.4f'
                      % (epoch, opt.niter, i, len(dataloader), errD.item(), errG.item()))

        if rank == 0:
            gen = netG.module.eval()
            with torch.no_grad():
                images = gen(fixed_noise)
            vutils.save_image(images, '%s/fake_epoch_%03d.png' % (opt.outf, epoch), normalize=True)
            torch.save({'G': netG.module.state_dict(), 'D': netD.module.state_dict(), 'epoch': epoch},
                       '%s/checkpoint.pth' % opt.outf)

    dist.destroy_process_group()


if __name__ == '__main__':
    main()
