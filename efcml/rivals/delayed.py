"""Labels that arrive late, for learners that can score other rows than those they learn."""

from efcml.learner import Trace


def learn_delayed(learner, X, Y, trace, delay):
    """Score row t + delay before row t is learned; afterwards all rows are learned.

    The first ``delay`` rows are scored before anything is learned. The last ones are learned when
    there is nothing left to score.
    """
    rows = X if trace.rows is None else trace.rows
    watched = max(len(X) - delay, 0)
    trace.scores[:delay] = learner.score(rows[:delay])
    head = Trace(trace.scores[delay:], trace.rules[:watched], rows=rows[delay:])
    learner.learn(X[:watched], Y[:watched], head)
    tail = Trace.for_rows(len(X) - watched, Y.shape[1])
    learner.learn(X[watched:], Y[watched:], tail)
    trace.rules[watched:] = tail.rules
    trace.events += head.events
    trace.events += [(watched + row, kind, uid) for row, kind, uid in tail.events]
    return learner
