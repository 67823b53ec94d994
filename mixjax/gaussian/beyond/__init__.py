"""Extend the paper: fits, random pairs, temperature scaling, unequal classes, more classes, real rows."""
