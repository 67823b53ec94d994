"""MNIST and its successors: what is known of each before its files are read, and where to get them."""

from __future__ import annotations

from typing import NamedTuple


class Known(NamedTuple):
    """A data set of 28x28 grey images that is kept in four IDX files.

    Attributes:
      class_names: in the order of the labels.
      folders: names that its folder has in use: ours, those of system packages, and torchvision's.
      advice: where to get the files.
    """

    class_names: tuple[str, ...]
    folders: tuple[str, ...]
    advice: str


KNOWN = {
    "mnist": Known(
        tuple("0123456789"),
        ("mnist", "MNIST/raw"),
        "get the four files from https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion_mnist": Known(
        ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ("fashion_mnist", "fashion-mnist", "FashionMNIST/raw"),
        "install the Debian package dataset-fashion-mnist, or get the four files from "
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "kmnist": Known(
        ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
        ("kmnist", "KMNIST/raw"),
        "get the four files from https://codh.rois.ac.jp/kmnist/",
    ),
}
