"""GlobalRLS and FourierRLS: one plane for all rows, by recursive least squares."""

from __future__ import annotations

from typing import Any

from efcml.estimators.base import MultiLabelFace
from efcml.estimators.seeds import read_random_state
from efcml.model.params import Params
from efcml.rivals.least_squares import LeastSquaresLearner
from efcml.support.checks import check_number, check_whole


class GlobalRLS(MultiLabelFace):
    """One global plane per label, learned by recursive least squares.

    Features are standardised by the initial rows and clipped. The ridge is chosen on the initial
    rows and kept; the intercept is held 100 times more weakly, near the label means.

    Parameters
    ----------
    ridge : "auto" or float
        "auto" picks it by cross-validation over contiguous folds of the initial rows.
    clip : float
        Features are clipped at this many standard deviations.
    warmup_rows : int
        Rows that ``partial_fit`` holds before it fits, when ``fit`` was not called.

    Attributes
    ----------
    ridge_ : float
        The ridge in use.
    learner_ : LeastSquaresLearner
        The learner behind the face.

    Examples
    --------
    >>> from efcml import datasets, prequential
    >>> from efcml.rivals import GlobalRLS
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=200)
    >>> clf = GlobalRLS().fit(*ds.initial)
    >>> prequential(clf, *ds.stream).scores.shape
    (200, 5)
    """

    def __init__(
        self,
        *,
        ridge: float | str = "auto",
        clip: float = Params.clip,
        warmup_rows: int = Params.warmup_rows,
    ) -> None:
        self.ridge, self.clip, self.warmup_rows = ridge, clip, warmup_rows

    def _new_learner(self, n_features: int, n_labels: int) -> LeastSquaresLearner:
        return LeastSquaresLearner(n_features, n_labels, **self._options())

    def _options(self) -> dict[str, Any]:
        check_number("ridge", self.ridge, above=0.0, words=("auto",))
        check_number("clip", self.clip, above=0.0)
        check_whole("warmup_rows", self.warmup_rows, least=1)
        return {"ridge": self.ridge, "clip": self.clip, "warmup_rows": self.warmup_rows}

    @property
    def ridge_(self) -> float | None:
        """The ridge in use; None while warm-up rows are held."""
        self._check_fitted()
        return self.learner_.ridge_chosen


class FourierRLS(GlobalRLS):
    """Recursive least squares on the features and random Fourier features: a kernel machine.

    The kernel is a Gaussian as wide as the median distance between the initial rows.

    Parameters
    ----------
    n_fourier : int
        Number of random features beside the features themselves.
    ridge, clip, warmup_rows
        As in `GlobalRLS`.
    random_state : int, RandomState instance or None
        For the random features. The default is a fixed seed.

    Attributes
    ----------
    ridge_, learner_
        As in `GlobalRLS`.

    Examples
    --------
    >>> from efcml import datasets, prequential
    >>> from efcml.rivals import FourierRLS
    >>> ds = datasets.load("drifting-clusters", n=400, n_initial=200)
    >>> clf = FourierRLS(n_fourier=50).fit(*ds.initial)
    >>> prequential(clf, *ds.stream).scores.shape
    (200, 5)
    """

    def __init__(
        self,
        *,
        n_fourier: int = 500,
        ridge: float | str = "auto",
        clip: float = Params.clip,
        warmup_rows: int = Params.warmup_rows,
        random_state: Any = 0,
    ) -> None:
        super().__init__(ridge=ridge, clip=clip, warmup_rows=warmup_rows)
        self.n_fourier, self.random_state = n_fourier, random_state

    def _options(self) -> dict[str, Any]:
        check_whole("n_fourier", self.n_fourier, least=1)
        seed = read_random_state(self.random_state).randint(2**31 - 1)
        return super()._options() | {"n_fourier": self.n_fourier, "seed": seed}
