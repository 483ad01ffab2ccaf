from .builder import MoCo
from .loader import TwoCrops, build_augmentation

__all__ = ["MoCo", "TwoCrops", "build_augmentation"]
