"""The core of the explorer against mixjax and the cases."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest
from scipy.stats import ks_2samp

from mixjax.gaussian import (
    ScoreLaw,
    confidence_density,
    critical_ratio,
    derivative_at_zero,
    derivative_slope,
    expected_errors,
    limit_scores,
    mixup_weight,
    population_accuracy,
    population_errors,
    reliability_curve,
    sample_scores,
)
from tests.explorer.engine import evaluate
from tests.paths import CASES
