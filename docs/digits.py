"""A small net on scikit-learn's digits, with and without Mixup, and the report that compares their calibration.

    python docs/digits.py [--train-rows 600] [--alpha 0.4] [--noise 0] [--steps 6000]
        [--seed 0] [--out runs/digits]

Both nets begin at the same weights and see the same batches; they differ in Mixup alone. They are trained in float64,
since in float32 the last digits, in which versions of JAX differ, end in other nets. The rows that they are not trained
on are predicted, and their logits and labels written to OUT/plain.npz and OUT/mixup.npz: any program that writes such
files can have the same report.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from mixjax import mixup
from mixjax.cli import main as mixjax

WIDTH, BATCH, RATE, MOMENTUM = 256, 50, 0.05, 0.9


class Net(NamedTuple):
    """One hidden layer."""

    hidden: jax.Array
    hidden_bias: jax.Array
    output: jax.Array
    output_bias: jax.Array

    def __call__(self, images: jax.Array) -> jax.Array:
        """Logits of the ten digits."""
        return jax.nn.relu(images @ self.hidden + self.hidden_bias[None]) @ self.output + self.output_bias[None]


def initial(key: jax.Array) -> Net:
    """He's initialization."""
    first, second = jax.random.split(key)
    hidden = jax.random.normal(first, (64, WIDTH)) * np.sqrt(2 / 64)
    output = jax.random.normal(second, (WIDTH, 10)) * np.sqrt(2 / WIDTH)
    return Net(hidden, jnp.zeros(WIDTH), output, jnp.zeros(10))


def loss(net: Net, images: jax.Array, targets: jax.Array) -> jax.Array:
    """Cross-entropy with soft targets."""
    return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(net(images)), axis=-1))


@partial(jax.jit, static_argnames="steps")
def trained(key: jax.Array, images: jax.Array, labels: jax.Array, alpha: jax.Array, steps: int) -> Net:
    """Stochastic gradient descent with momentum; alpha = 0 is no Mixup."""
    key_net, key_steps = jax.random.split(key)
    targets = jax.nn.one_hot(labels, 10)

    def step(state: tuple[Net, Net], key: jax.Array) -> tuple[tuple[Net, Net], None]:
        net, velocity = state
        key_batch, key_mixup = jax.random.split(key)
        batch = jax.random.choice(key_batch, len(images), (BATCH,), replace=False)
        gradient = jax.grad(loss)(net, *mixup(key_mixup, images[batch], targets[batch], alpha=alpha))
        velocity = jax.tree.map(lambda v, g: MOMENTUM * v - RATE * g, velocity, gradient)
        return (jax.tree.map(jnp.add, net, velocity), velocity), None

    net = initial(key_net)
    return jax.lax.scan(step, (net, jax.tree.map(jnp.zeros_like, net)), jax.random.split(key_steps, steps))[0][0]


def main(arguments: list[str]) -> int:
    """Train both nets, write what they predict, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train-rows", type=int, default=600, help="of 1797; the others are predicted")
    parser.add_argument("--alpha", type=float, default=0.4, help="of Mixup")
    parser.add_argument("--noise", type=float, default=0.0, help="standard deviation, added to pixels in [0, 1]")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/digits"))
    options = parser.parse_args(arguments)
    jax.config.update("jax_enable_x64", True)
    digits = load_digits()
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(len(digits.target))
    noise = options.noise * rng.standard_normal(digits.data.shape)
    images, labels = digits.data[order] / 16 + noise, digits.target[order].astype(np.int32)
    train, test = slice(None, options.train_rows), slice(options.train_rows, None)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, alpha in (("plain", 0.0), ("mixup", options.alpha)):
        key = jax.random.key(options.seed)
        net = trained(key, images[train], labels[train], jnp.asarray(alpha), options.steps)
        np.savez(options.out / f"{name}.npz", logits=net(images[test]), labels=labels[test])
    files = [str(options.out / f"{name}.npz") for name in ("plain", "mixup")]
    return mixjax(["report", "--compare", *files, "--logits", "--out", str(options.out / "report")])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
