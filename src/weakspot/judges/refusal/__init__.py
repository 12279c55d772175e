"""Does an answer refuse? The embedded judge, chat models as judges, several together."""
