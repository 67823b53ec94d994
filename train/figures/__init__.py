"""Figures of the experiments, drawn from records alone."""
