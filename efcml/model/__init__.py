"""The learner and its state: parameters, rules, cases, fit, birth, merge and repair."""
