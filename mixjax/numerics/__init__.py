"""Numerical kernels that several packages share: checked arguments, random words, quadrature, Newton's method."""
