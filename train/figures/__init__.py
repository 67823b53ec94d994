"""Figures of the experiments, drawn from what is stored."""
