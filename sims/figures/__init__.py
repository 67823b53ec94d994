"""Pictures of the studies, drawn from their stored tables alone."""
