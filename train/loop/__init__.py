"""Training: what a job is, its compiled steps, and the loop from its start or its last checkpoint to its end."""
