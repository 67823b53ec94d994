"""Training: jobs, their compiled steps, and the loop from the start or the last checkpoint to the end."""
