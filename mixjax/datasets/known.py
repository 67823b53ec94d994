"""What is known of each data set beforehand: its classes, its shape, where it may lie and where to get it."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Name = Literal["digits", "mnist", "fashion_mnist", "kmnist", "cifar10", "cifar100"]
NAMES: tuple[Name, ...] = get_args(Name)


class Known(NamedTuple):
    """A data set that is kept in files.

    Attributes:
      shape: of an image.
      num_classes: K.
      class_names: empty if they are read from the files.
      folders: below a data folder, where its files are looked for besides those of tensorflow-datasets.
      system: folders of the system that hold it once a package is installed.
      advice: where to get it.
    """

    shape: tuple[int, int, int]
    num_classes: int
    class_names: tuple[str, ...]
    folders: tuple[str, ...]
    system: tuple[str, ...]
    advice: str


_GREY, _COLOUR = (28, 28, 1), (32, 32, 3)

KNOWN = {
    "mnist": Known(
        _GREY,
        10,
        tuple("0123456789"),
        ("mnist", "MNIST/raw"),
        (),
        "the four files are at https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion_mnist": Known(
        _GREY,
        10,
        (
            *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
            *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ),
        ("fashion_mnist", "fashion-mnist", "FashionMNIST/raw"),
        ("/usr/share/datasets/fashion-mnist",),
        "install the Debian package dataset-fashion-mnist, or get the four files from "
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "kmnist": Known(
        _GREY,
        10,
        ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
        ("kmnist", "KMNIST/raw"),
        (),
        "the four files are at https://codh.rois.ac.jp/kmnist/",
    ),
    "cifar10": Known(
        _COLOUR,
        10,
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        ("cifar10", "cifar-10"),
        (),
        "cifar-10-binary.tar.gz is at https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
    "cifar100": Known(
        _COLOUR,
        100,
        (),
        ("cifar100", "cifar-100"),
        (),
        "cifar-100-binary.tar.gz is at https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
}
