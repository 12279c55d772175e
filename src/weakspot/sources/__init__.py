"""Turn words into cases: text-to-image, image pools, edits. Empty yet; the drawn world has its own."""
