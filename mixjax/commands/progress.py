"""Lines, a progress bar and a report in the terminal of a run. The run continues if the terminal goes away."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

_BAR_WIDTH = 16  # leaves room for the name of a net in 80 columns


@runtime_checkable
class Show(Protocol):
    """A display of progress: how much is done, of how much, and a description."""

    def __call__(self, done: int, total: int, text: str) -> None:
        """Display it."""


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Print nothing more; rich would end the program."""
        self.quiet = True


def tell(text: str) -> None:
    """Print a line on standard error, above a progress bar if there is one."""
    with suppress(OSError):
        _Terminal(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def print_markdown(text: str) -> None:
    """Print Markdown, laid out if this is a terminal."""
    console = Console()
    if console.is_terminal:
        from rich.markdown import Markdown

        console.print(Markdown(text))
    else:
        print(text)


class ProgressBar:
    """A progress bar that appears when work begins, as a context that gives the function to call."""

    def __init__(self) -> None:
        name = TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1))
        numbers = [
            column(table_column=Column(no_wrap=True, min_width=width))
            for column, width in ((TaskProgressColumn, 4), (TimeElapsedColumn, 7), (TimeRemainingColumn, 7))
        ]
        bar, left = BarColumn(_BAR_WIDTH), TextColumn("left")
        self._bar = Progress(name, bar, *numbers, left, console=_Terminal(stderr=True), expand=True)

    def __enter__(self) -> Show:
        return self._show

    def _show(self, done: int, total: int, text: str) -> None:
        with suppress(OSError):
            if not self._bar.tasks:
                self._bar.start()
                self._bar.add_task(text, total=total, completed=done)
                return
            self._bar.update(self._bar.tasks[0].id, completed=done, description=text)

    def __exit__(self, *_: object) -> None:
        if self._bar.tasks:
            with suppress(OSError):
                self._bar.stop()
