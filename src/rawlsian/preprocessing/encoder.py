"""UnitDistanceEncoder: the paper's preparation of mixed tables."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rawlsian._rows.groups import encode_values, frame_columns, is_missing
from rawlsian.preprocessing.features import Feature, Values, encode, learn_range


class UnitDistanceEncoder(TransformerMixin, BaseEstimator):
    """Encode a mixed table so that each attribute sets two rows at most 1 apart.

    Numbers are scaled to [0, 1]. Categories become one column a level, with 1/sqrt(2)
    in the column of the row's level and 0 in the others. The squared distance between
    two rows is then at most ``max_distance_``, the number of attributes that vary.

    Parameters
    ----------
    categorical_features : "auto" or list of int or str, default="auto"
        "auto" takes columns of text, booleans and categoricals as categories, and
        columns of numbers as numbers. A list names the categories by position or by
        column name, for numbers that are codes; all others must then be numbers.
    handle_unknown : {"error", "ignore"}, default="error"
        How to encode a level that was not there in ``fit``. "ignore" encodes it as
        all zeros, a squared distance of 1/2 from every known level.

    Attributes
    ----------
    max_distance_ : float
        Largest squared distance that two rows seen in ``fit`` can have.
    categories_ : list of ndarray or None
        Levels of each column, sorted; None for a column of numbers.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where the table had any.

    Notes
    -----
    Missing values are an error that names the column: fill or drop them first. A
    column that was constant in ``fit`` is kept and is always 0 (numbers) or one level
    (categories). Numbers outside the range seen in ``fit`` are not clipped, so that
    they may lie outside [0, 1]. The output is dense, also for many levels.

    Examples
    --------
    >>> from rawlsian import UnitDistanceEncoder
    >>> encoder = UnitDistanceEncoder()
    >>> encoder.fit_transform([[20, "a"], [30, "b"], [40, "a"]]).round(3)
    array([[0.   , 0.707, 0.   ],
           [0.5  , 0.   , 0.707],
           [1.   , 0.707, 0.   ]])
    >>> encoder.max_distance_
    2.0
    >>> encoder.get_feature_names_out()
    array(['x0', 'x1_a', 'x1_b'], dtype=object)
    """

    def __init__(
        self,
        *,
        categorical_features: Literal["auto"] | Sequence[int | str] = "auto",
        handle_unknown: Literal["error", "ignore"] = "error",
    ) -> None:
        self.categorical_features = categorical_features
        self.handle_unknown = handle_unknown

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the ranges of numbers and the levels of categories.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_columns)
            The table: a NumPy array, a list of rows, a pandas or polars frame.
        y : ignored
            Here for the sake of scikit-learn's conventions.

        Returns
        -------
        Self
            The fitted encoder itself.
        """
        if self.handle_unknown not in ("error", "ignore"):
            raise ValueError(
                f"handle_unknown must be 'error' or 'ignore', got "
                f"{self.handle_unknown!r}."
            )
        columns = self._columns(X, reset=True)
        names = self._input_names()
        categorical = self._categorical(columns, names)
        features: list[Feature] = []
        categories: list[NDArray[Any] | None] = []
        for column, name, is_categorical in zip(
            columns, names, categorical, strict=True
        ):
            _check_complete(column, name)
            levels = encode_values(column)[0] if is_categorical else None
            categories.append(levels)
            features.append(
                learn_range(name, _numbers(column, name))
                if levels is None
                else Feature(name, tuple(levels))
            )
        self._features, self.categories_ = features, categories
        self.max_distance_ = float(sum(each.max_distance for each in features))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode a table with the columns that ``fit`` saw.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_columns)
            The table.

        Returns
        -------
        ndarray of shape (n_samples, n_features_out)
            The encoded rows.
        """
        check_is_fitted(self, "categories_")
        columns = self._columns(X, reset=False)
        values = (
            self._values(column, feature)
            for column, feature in zip(columns, self._features, strict=True)
        )
        return encode(self._features, values, len(columns[0]))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns: the attribute's, or attribute_level.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the attributes, where ``fit`` saw none.

        Returns
        -------
        ndarray of shape (n_features_out,)
            One name a column.
        """
        check_is_fitted(self, "categories_")
        names = self._input_names(input_features)
        out: list[str] = []
        for name, feature in zip(names, self._features, strict=True):
            if feature.levels is None:
                out.append(name)
            else:
                out.extend(f"{name}_{level}" for level in feature.levels)
        return np.array(out, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def _columns(self, X: Any, *, reset: bool) -> list[NDArray[Any]]:
        """The columns of X as arrays, each of its own type."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = frame_columns(X)
        else:
            if isinstance(X, (list, tuple)):
                X = _rows_as_objects(X)
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
            columns = list(X.T)
        if not columns or not len(columns[0]):
            raise ValueError(
                f"X has 0 sample(s) or columns (shape={np.shape(X)}) while a minimum "
                "of 1 is required."
            )
        return columns

    def _input_names(self, input_features: Any = None) -> list[str]:
        seen = getattr(self, "feature_names_in_", None)
        if input_features is not None:
            given = [str(name) for name in input_features]
            if seen is not None and given != [str(name) for name in seen]:
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(given) != self.n_features_in_:
                raise ValueError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}"
                )
            return given
        if seen is not None:
            return [str(name) for name in seen]
        return [f"x{position}" for position in range(self.n_features_in_)]

    def _categorical(self, columns: list[NDArray[Any]], names: list[str]) -> list[bool]:
        """Which columns are categories."""
        chosen = self.categorical_features
        if isinstance(chosen, str) and chosen == "auto":
            return [
                not _is_numeric(column, name)
                for column, name in zip(columns, names, strict=True)
            ]
        if not isinstance(chosen, (list, tuple, np.ndarray)):
            raise ValueError(
                "categorical_features must be 'auto' or a list of column names or "
                f"positions, got {chosen!r}."
            )
        positions = set()
        for feature in chosen:
            if feature in names:
                positions.add(names.index(feature))
            elif _is_number_type(type(feature)) and feature in range(len(names)):
                positions.add(int(feature))
            else:
                raise ValueError(
                    f"categorical_features names {feature!r}, which is not a column of "
                    f"X; its columns are {', '.join(names)}."
                )
        for position, (column, name) in enumerate(zip(columns, names, strict=True)):
            if position not in positions and not _is_numeric(column, name):
                raise ValueError(
                    f"column {name!r} is not numeric; name it in categorical_features "
                    "or leave that at 'auto'."
                )
        return [position in positions for position in range(len(names))]

    def _values(self, column: NDArray[Any], feature: Feature) -> Values:
        """The numbers of a column, or its different values and each row's code."""
        _check_complete(column, feature.name)
        if feature.levels is None:
            if not _is_numeric(column, feature.name):
                raise ValueError(
                    f"column {feature.name!r} must hold numbers, as in fit."
                )
            return _numbers(column, feature.name)
        values, codes = encode_values(column)
        unknown = values[feature.places(values) < 0]
        if len(unknown) and self.handle_unknown == "error":
            raise ValueError(
                f"column {feature.name!r} has a level that was not there in fit: "
                f"{unknown.tolist()[0]!r}; fit on all levels or use "
                "handle_unknown='ignore'."
            )
        return values, codes


def _rows_as_objects(X: Any) -> Any:
    """A list of rows as an array of objects: NumPy would make all of it one type."""
    return np.array(X, dtype=object)


def _is_numeric(column: NDArray[Any], name: str) -> bool:
    """Return True if a column holds numbers; text and booleans are categories."""
    if column.dtype.kind in "iuf":
        return True
    if column.dtype.kind in "Mm":
        raise ValueError(
            f"column {name!r} holds dates or times; turn it into numbers (such as days "
            "since a date) or categories (such as the month), or drop it."
        )
    if column.dtype != object:
        return False
    types = {type(value) for value in column[~is_missing(column)]}
    numbers = {kind for kind in types if _is_number_type(kind)}
    if numbers and numbers != types:
        raise ValueError(
            f"column {name!r} mixes numbers and text; make it one or the other."
        )
    return bool(numbers)


def _is_number_type(kind: type) -> bool:
    return issubclass(kind, (Real, Decimal)) and not issubclass(kind, (bool, np.bool_))


def _numbers(column: NDArray[Any], name: str) -> NDArray[np.float64]:
    try:
        numbers = column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} must hold numbers: {error}.") from error
    if np.isinf(numbers).any():
        raise ValueError(
            f"column {name!r} holds infinity (inf) in {np.isinf(numbers).sum()} "
            "row(s); replace it by a number or drop these rows."
        )
    return numbers


def _check_complete(column: NDArray[Any], name: str) -> None:
    missing = is_missing(column)
    if missing.any():
        raise ValueError(
            f"column {name!r} has {missing.sum()} missing value(s) (NaN or None), the "
            f"first at row {np.argmax(missing)}; fill them in or drop these rows."
        )
