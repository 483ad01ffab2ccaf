from torchvision import transforms as T
from torchvision.datasets import ImageFolder


class TwoViews:
    def __init__(self, size=224):
        self.tf = T.Compose([
            T.RandomResizedCrop(size, scale=(0.2, 1.0)),
            T.RandomHorizontalFlip(),
            T.RandomApply([T.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            T.RandomGrayscale(0.2),
            T.RandomApply([T.GaussianBlur(23)], p=0.5),
            T.ToTensor(),
            T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ])

    def __call__(self, img):
        return self.tf(img), self.tf(img)


def pretrain_set(root, size):
    return ImageFolder(root, TwoViews(size))
