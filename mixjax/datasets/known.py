"""Facts on each data set before its files are read: classes, sizes, usual folders, and where to get it."""

from __future__ import annotations

from typing import NamedTuple

from mixjax.datasets.dataset import Dataset
from mixjax.runs import RunError


class Known(NamedTuple):
    """A data set that is kept in files.

    Attributes:
      shape: of an image: height, width, channels.
      sizes: numbers of training and of test images.
      class_names: in the order of the labels.
      folders: names that its folder has in use: ours, those of system packages, and torchvision's.
      advice: where to get the files.
    """

    shape: tuple[int, int, int]
    sizes: tuple[int, int]
    class_names: tuple[str, ...]
    folders: tuple[str, ...]
    advice: str


_GREY, _COLOR = (28, 28, 1), (32, 32, 3)
_FINE = """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle
    caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant
    flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man maple_tree
    motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree plain plate
    poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper snail snake spider
    squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor train trout tulip turtle
    wardrobe whale willow_tree wolf woman worm
"""

KNOWN = {
    "mnist": Known(
        _GREY,
        (60_000, 10_000),
        tuple("0123456789"),
        ("mnist", "MNIST/raw"),
        "get the four files from https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    "fashion_mnist": Known(
        _GREY,
        (60_000, 10_000),
        ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        ("fashion_mnist", "fashion-mnist", "FashionMNIST/raw"),
        "install the Debian package dataset-fashion-mnist, or get the four files from "
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "kmnist": Known(
        _GREY,
        (60_000, 10_000),
        ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"),
        ("kmnist", "KMNIST/raw"),
        "get the four files from https://codh.rois.ac.jp/kmnist/",
    ),
    "cifar10": Known(
        _COLOR,
        (50_000, 10_000),
        ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
        ("cifar10", "cifar-10"),
        "get cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
    "cifar100": Known(
        _COLOR,
        (50_000, 10_000),
        tuple(_FINE.split()),
        ("cifar100", "cifar-100"),
        "get cifar-100-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
}


def checked(dataset: Dataset) -> Dataset:
    """Return a data set as it is, after a check that it has all of its images."""
    known = KNOWN[dataset.name]
    images = {"training": dataset.train_inputs, "test": dataset.test_inputs}
    for (split, inputs), size in zip(images.items(), known.sizes, strict=True):
        if inputs.shape != (size, *known.shape):
            there, expected = (" x ".join(map(str, shape)) for shape in (inputs.shape, (size, *known.shape)))
            raise RunError(
                f"{dataset.name} from {dataset.source} is incomplete: {there} bytes of {split} images "
                f"instead of {expected}; {known.advice}"
            )
    return dataset
