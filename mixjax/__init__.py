"""When and how Mixup improves calibration: exact theory, Monte Carlo at any scale, calibration functions."""

__version__ = "0.1.0"
