"""English: sentences, tagging, edits, differences, negation, word lists, WordNet."""
