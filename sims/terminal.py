"""What a terminal shows of a run: lines, a progress bar, a report. That it is gone does not end the run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Show no more; rich would end the program."""
        self.quiet = True


def tell(text: str) -> None:
    """Show a line beside what is printed."""
    with suppress(OSError):
        _Terminal(stderr=True, highlight=False).print(text, markup=False, soft_wrap=True)


def print_markdown(text: str) -> None:
    """As a table in a terminal, and as it is elsewhere."""
    console = Console()
    if console.is_terminal:
        from rich.markdown import Markdown

        console.print(Markdown(text))
    else:
        print(text)


class ProgressBar:
    """A progress bar over units of work, shown once work begins, as a context that gives the function to call."""

    def __init__(self, title: str):
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("units"))
        times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
        self.bar = Progress(*columns, *times, console=_Terminal(stderr=True))
        self.title = title

    def __enter__(self) -> Callable[[int, int], None]:
        return self._advance

    def _advance(self, done: int, total: int) -> None:
        with suppress(OSError):
            if not self.bar.tasks:
                self.bar.start()
                self.bar.add_task(f"{self.title} (compiling)", total=total, completed=done)
                return
            doing = self.title if done < total else f"{self.title} (making the table)"
            self.bar.update(self.bar.tasks[0].id, completed=done, description=doing)

    def __exit__(self, *_: object) -> None:
        if self.bar.tasks:
            with suppress(OSError):
                self.bar.update(self.bar.tasks[0].id, description=self.title)
                self.bar.stop()
