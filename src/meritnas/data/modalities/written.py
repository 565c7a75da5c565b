"""A modality of written text: counts of words and pairs of words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer

from meritnas.data.modalities.row_layout import Shape
from meritnas.data.modalities.view import View, join_texts, plain_texts
from meritnas.data.modalities.word_counts import written_numbers
from meritnas.data.pictures.named import NamedPictures
from meritnas.errors import DataError, UsageError, whole_number

Way = Literal["counted", "hashed"]
"""Words are counted by a vocabulary of the train rows, or each has a place by its hash."""

_ROWS_AT_ONCE = 1 << 12
_ENOUGH_TEXTS = 50
"""From here on, what only one text says is not in the vocabulary."""
_WORDS_AND_PAIRS = (1, 2)


@dataclass(frozen=True)
class WrittenModality:
    """A modality of texts: how much each carries of words and pairs of words, from 0 to 1.

    Counted: tf-idf, (1 + ln tf) (1 + ln((1 + n) / (1 + df))), of the most frequent words and pairs
    of the train rows. Hashed: counts of all of them, several of which may share a place. Either
    way a text has length 1.

    Attributes:
        name: Of the modality.
        columns: Of the table that are joined to one text; just the name where there is no table.
        way: How words become numbers.
        places: How many numbers a text has.
        vocabulary: What each place counts; empty where words are hashed.
        weights: The idf of each place; empty where words are hashed.
    """

    name: str
    columns: tuple[str, ...]
    way: Way
    places: int
    vocabulary: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    @classmethod
    def fit(
        cls, name: str, view: View, rows: np.ndarray, way: Way = "counted", words: int = 1024
    ) -> WrittenModality:
        """Finds the vocabulary of the train rows.

        Args:
            name: Of the modality.
            view: The texts.
            rows: Positions of the train rows.
            way: How words become numbers.
            words: Most places of a vocabulary; all places of hashes.

        Raises:
            DataError: There are no words.
            UsageError: There is no such way, or no place for words.
        """
        if way not in get_args(Way):
            raise UsageError(f"no way '{way}' to take texts; use 'counted' or 'hashed'")
        whole_number("words", words, least=1)
        values = _series(name, view)
        columns = values.name if isinstance(values.name, tuple) else (name,)
        if way == "hashed":
            return cls(name, columns, way, words)
        texts = [text for text in plain_texts(values.iloc[rows]) if text]
        vectorizer = _fitted(name, texts, words)
        found = tuple(vectorizer.get_feature_names_out().tolist())
        return cls(name, columns, way, len(found), found, tuple(vectorizer.idf_.tolist()))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The one shape (places,)."""
        return ((self.places,),)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def encode(self, view: View, rows: np.ndarray, out: np.ndarray) -> None:
        """Writes presence and numbers of some rows into `out` [n, 1 + width]."""
        texts = plain_texts(_series(self.name, view).iloc[rows])
        for start in range(0, len(texts), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            out[part, 1:] = written_numbers(
                texts[part], self.way, self.places, self.vocabulary, self.weights
            )
        out[:, 0] = [bool(text) for text in texts]

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> WrittenModality:
        """Returns the modality that `to_json` gave."""
        lists = {key: tuple(value[key]) for key in ("columns", "vocabulary", "weights")}
        plain = {key: each for key, each in value.items() if key != "kind"}
        return cls(**{**plain, **lists})

    def to_json(self) -> dict[str, Any]:
        """Returns the modality as plain JSON values; floats keep every bit."""
        plain = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(self).items()}
        return {"kind": "written", **plain}


def _fitted(name: str, texts: list[str], words: int) -> TfidfVectorizer:
    """A vectorizer of the train texts; rare words are in it only where there are no others."""
    for least in (2, 1) if len(texts) >= _ENOUGH_TEXTS else (1,):
        vectorizer = TfidfVectorizer(
            ngram_range=_WORDS_AND_PAIRS, max_features=words, min_df=least, sublinear_tf=True
        )
        try:
            return vectorizer.fit(texts)
        except ValueError:
            continue
    raise DataError(
        f"the texts of '{name}' hold no words of at least two letters; leave the modality out"
    )


def _series(name: str, view: View) -> pd.Series:
    if isinstance(view, pd.DataFrame):
        return join_texts(view)
    if isinstance(view, pd.Series):
        return view
    if isinstance(view, tuple | NamedPictures) or view.ndim != 1 or view.dtype.kind not in "UO":
        found = "several arrays"
        if isinstance(view, np.ndarray):
            found = f"{view.dtype} {list(view.shape)}"
        raise DataError(f"the view '{name}' must be text [n] as what was learned from, got {found}")
    return pd.Series(view, dtype=object)
