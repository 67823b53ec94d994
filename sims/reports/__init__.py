"""Findings of the studies in Markdown, from their stored tables alone."""
