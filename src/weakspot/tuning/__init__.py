"""Changes the weights of a model: classifiers, encoders, summarisers, generators."""
