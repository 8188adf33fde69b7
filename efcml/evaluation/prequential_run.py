"""prequential: one pass of test-then-train, for models of any kind."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from efcml.evaluation.pipelines import pass_steps, split_pipeline, steps_put_back_if_it_fails
from efcml.evaluation.stream_pass import begin_pass
from efcml.support.progress import progress_bar
from efcml.support.steps import is_pipeline

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from pandas import DataFrame

    from efcml.active import ActiveLearner
    from efcml.evaluation.prequential_result import PrequentialResult


def prequential(
    model: Any,
    X: ArrayLike | DataFrame,
    Y: ArrayLike | DataFrame,
    active: ActiveLearner | None = None,
    learn: bool = True,
    *,
    delay: int = 0,
    progress: bool | None = None,
) -> PrequentialResult:
    """Run a model over the rows given, test-then-train, and return what happened.

    Every row is scored, then learned. The model is changed, as after ``partial_fit`` on the same
    rows.

    Three kinds of model are known, by their methods:

    - the estimators of efcml (``begin_stream``). The loop over rows runs inside the kernels.
    - scikit-learn models with ``partial_fit`` and one of ``decision_function``,
      ``predict_proba`` or ``predict``, the first that is there. Answers are (n, K), or a list of
      one (n, 2) array per label. Where 0 is the threshold (``decision_function``), 0.5 is added.
      ``classes`` goes to the first ``partial_fit`` if it asks for it. Until the first row is
      learned a new model cannot answer; the label frequencies of the rows so far do. Rows that
      lack a label are not learned.
    - river models (``learn_one`` and ``predict_proba_one`` or ``predict_one``) with dictionaries
      of labels. A label that is missing in an answer gets the score 0. Unknown labels are left
      out when a row is learned. In front of a pipeline of river X may hold anything; what is
      missing is passed as None.

    A fitted scikit-learn ``Pipeline`` that ends in a model of the first two kinds is one, too. Its
    first step takes X as it is. Each row is transformed by what the steps have learned before it,
    then those that have ``partial_fit`` learn its features, row by row and without labels, whether
    these are known or not; so score and learning of a row go by the same numbers. Other steps, a
    ``ColumnTransformer`` for instance, stay as they were fitted.

    If a run is interrupted, nothing is returned. An estimator of efcml is then left as it was
    after some whole block of rows, the steps of a pipeline as they were before the run; other
    models stay as they are at that moment.

    Parameters
    ----------
    model : object
        Fitted on an initial part, or new.
    X, Y : array-like of shape (n, p) and (n, K)
        The stream; Y is 0, 1, or NaN where unknown, and may be sparse.
    active : ActiveLearner, optional
        Decides which labels are asked and learned; without one, all are. Needs an EFCMLClassifier
        that is fitted on an initial part. Its spending and thresholds go on from earlier use.
    learn : bool
        False predicts only: a static model, which must be fitted and is not changed. It needs no
        method to learn.
    delay : int
        Labels arrive this many rows late: a row is scored by the model that has learned all
        rows but the last ``delay`` before it. In the end all rows are learned.
    progress : bool, optional
        Whether to show a progress bar. None shows it on a terminal and in a notebook.

    Returns
    -------
    PrequentialResult
        Scores, trends, rule counts, events and time.

    Examples
    --------
    >>> from efcml import EFCMLClassifier, datasets, prequential
    >>> ds = datasets.load("drifting-clusters", n=150, n_initial=100)
    >>> clf = EFCMLClassifier().fit(*ds.initial)
    >>> result = prequential(clf, *ds.stream)
    >>> result.scores.shape
    (50, 5)
    """
    if not isinstance(delay, Integral) or isinstance(delay, bool) or delay < 0:
        raise ValueError(f"delay must be a whole number >= 0; got {delay!r}.")
    if isinstance(model, type):
        raise TypeError(f"prequential needs a model; got the class {model.__name__}.")
    if np.shape(X)[:1] == (0,):
        raise ValueError("the stream has no rows: X is empty.")
    if is_pipeline(model):
        steps, last = split_pipeline(model)
        with steps_put_back_if_it_fails(steps):
            begin = time.perf_counter()
            X = pass_steps(steps, X, learn=learn, progress=progress)
            spent = time.perf_counter() - begin
            result = prequential(last, X, Y, active, learn, delay=delay, progress=progress)
        return replace(result, seconds=result.seconds + spent)
    run = begin_pass(model, X, Y, active, learn=bool(learn), delay=int(delay))
    with progress_bar(len(run.Y), "prequential", show=progress) as bar:
        run.go(after_block=bar.update)
    learner: Any = getattr(model, "learner_", None)
    if hasattr(learner, "warn_of_clipping"):  # once for each model
        learner.warn_of_clipping(run.trace.clipped, len(run.Y))
    return run.result()
