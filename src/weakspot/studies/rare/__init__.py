"""rare: how often a classifier fails where plain sampling would hardly see it fail."""
