"""What a run has to say, once as a model, and its renderings: for a terminal, as JSON, and as JUnit XML."""
