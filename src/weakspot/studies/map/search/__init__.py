"""How a map chooses the cells it asks: bandits, models of the landscape, learned agents."""
