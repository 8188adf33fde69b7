"""What scikit-learn sees: checks, names and parameters around a learner."""
