"""Writes digits.safetensors: scikit-learn's handwritten digits, in a fixed random order, as bytes. Run with scikit-learn,
numpy and safetensors installed: python export_digits.py
"""

import numpy as np
from safetensors.numpy import save_file
from sklearn.datasets import load_digits

digits = load_digits()
order = np.random.RandomState(0).permutation(len(digits.target))
images = digits.images[order].astype(np.uint8)
labels = digits.target[order].astype(np.uint8)
save_file({"images": images, "labels": labels}, "digits.safetensors", {"source": "sklearn.datasets.load_digits"})
print(images.shape, images.max(), np.bincount(labels[1437:]))
