"""Penalized logistic regression with Mixup and label smoothing, which people train, and its limit."""
