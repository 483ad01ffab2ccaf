import sys

import numpy as np

blob = np.load(sys.argv[1])
arr, labels = blob["arr_0"], blob["arr_1"]
assert arr.dtype == np.uint8 and arr.shape[1:] == (32, 32, 3), arr.shape
print(f"{len(arr)} images, channel mean {arr.mean((0, 1, 2))}, per class {np.bincount(labels, minlength=10)}")
