"""The machinery of the estimators: clean rows, bins, order and ties, and sums that do not drift."""
