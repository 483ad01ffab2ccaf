import torch.nn as nn

from .core import MODELS


@MODELS.register
class RegressionPose(nn.Module):
    def __init__(self, num_joints, width):
        super().__init__()
        self.num_joints = num_joints
        self.backbone = nn.Sequential(
            nn.Conv2d(1, width // 2, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(width // 2, width, 3, 2, 1), nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Sequential(nn.Linear(width * 36, 64), nn.ReLU(), nn.Linear(64, num_joints * 2))

    def forward(self, img, joints=None, mode="predict"):
        pred = self.head(self.backbone(img)).view(-1, self.num_joints, 2)
        if mode == "loss":
            return {"loss_joint": nn.functional.smooth_l1_loss(pred, joints, beta=0.1)}
        return pred
