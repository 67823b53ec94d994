"""The command `prepare DATASET --from ARCHIVE [--data-dir DIR]`: the authors' files as a TFDS folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from mixjax.commands import Parser
from mixjax.datasets import prepare
from mixjax.datasets.known import KNOWN
from mixjax.runs import RunError


def main(arguments: Sequence[str], prog: str) -> int:
    """Prepare a data set and print its folder.

    Raises:
      RunError: for what the user can put right, in one sentence.
    """
    options = _parser(prog).parse_args(list(arguments))
    if options.dataset not in KNOWN:
        raise RunError(f"there is no data set {options.dataset!r} to prepare; choose from {', '.join(KNOWN)}")
    print(prepare(options.dataset, options.source, data_dir=options.data_dir))
    return 0


def _parser(prog: str) -> Parser:
    parser = Parser(
        f"{prog} prepare",
        description="Turn the files of a data set's authors into a folder for tensorflow-datasets and experiments.\n"
        "Nothing is downloaded, and TensorFlow is not needed.",
        epilog="\n".join(f"{name}: {known.advice}." for name, known in KNOWN.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", metavar="DATASET", help=", ".join(KNOWN))
    archives = "cifar-10-binary.tar.gz, cifar-100-binary.tar.gz, or the folder with the archive or the four IDX files"
    parser.add_argument("--from", dest="source", type=Path, required=True, metavar="ARCHIVE", help=archives)
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="default: TFDS_DATA_DIR, or ~/tensorflow_datasets")
    return parser
