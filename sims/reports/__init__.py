"""Findings of the studies in Markdown, written from their stored tables alone."""
