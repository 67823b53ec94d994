"""The packages that pictures and tables need: one sentence where they are missing."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def needs(package: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Return a decorator of functions that import a package of the extra `report`.

    Where the package is not installed, they raise ImportError, which says how to install it.
    """

    def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @wraps(function)
        def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            if find_spec(package) is None:
                public = ".".join([*function.__module__.split(".")[:2], function.__qualname__])
                raise ImportError(f"{public} needs {package}: pip install 'mixjax[report]'", name=package)
            return function(*args, **kwargs)

        return call

    return decorate
