"""What the run folder of the `run` fixture is made of, and arrays to write there."""

from __future__ import annotations

import numpy as np

SPEC = {"study": "s", "axis": [1.0, 2.0], "seed": 0}
ENVIRONMENT = {"jax": "1", "platform": "cpu"}
LAYOUT = {"unit_cells": 4}
RUN = {"spec": SPEC, "environment": ENVIRONMENT, "layout": LAYOUT}  # of `RunDirectory.open`
ARRAYS = {"mean": np.arange(6.0).reshape(2, 3), "count": np.array([3, 4], np.int32)}
