"""The frame that every study shares: loading its parts, and where its trials are drawn."""
