from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest

from meritnas.cost.reduced import cheapest
from meritnas.data.bundle import Bundle
from meritnas.data.kinds import kind_named
from meritnas.data.tables.bundle import make_bundle, outline_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import Source, load_source
from meritnas.families.stored_size import BYTES_A_WEIGHT
from meritnas.families.tabular.embedding_room import EMBEDDING_SHARE, most_weights
from meritnas.families.tabular.family import TabularSpace
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.encoding import encode
from meritnas.prepare.family import make_family
from meritnas.settings.settings import SearchSettings
from meritnas.strategy.tabnas import Tabnas


@pytest.fixture(scope="module")
def source() -> Source:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=2000)})
    frame["many"] = [f"c{i}" for i in rng.integers(0, 80, 2000)]
    frame["few"] = rng.choice(["p", "q", "r"], 2000)
    frame["y"] = rng.choice(["u", "v"], 2000)
    return load_source(frame, "y")


@pytest.fixture(scope="module")
def bundle(source: Source) -> Bundle:
    return make_bundle(source, 0)


def settings_of(limits: Mapping[str, int], **further: int) -> SearchSettings:
    space = Tabular(layers=2, widths=(2, 4), **further)
    return SearchSettings(space, Tabnas(), TableReading(), limits=limits)


def encoded(source: Source, limits: Mapping[str, int], **further: int) -> Bundle:
    outline = outline_table(source, 0)
    kind = kind_named("table")
    return encode(settings_of(limits, **further), kind, source, outline, "standard")[0]


def family_of(bundle: Bundle, limits: Mapping[str, int], **further: int) -> TabularSpace:
    return make_family(settings_of(limits, **further), bundle.encoder, bundle.task)


def test_embeddings_take_their_share_of_a_limit_and_no_more(bundle: Bundle) -> None:
    free = family_of(bundle, {}).inputs
    assert max(free.embedding_widths) > 3
    before = free.embedding_params
    for most in (20_000, 2_000, 1_000, 500):
        found = family_of(bundle, {"params": most}).inputs
        assert found.embedding_params <= EMBEDDING_SHARE * most
        assert found.embedding_params <= before
        before = found.embedding_params
    assert family_of(bundle, {"params": 20_000}).inputs == free
    assert family_of(bundle, {"flops": 50}).inputs == free  # which embeddings do not use
    size = family_of(bundle, {}).header_bytes + 1_000 * BYTES_A_WEIGHT
    in_bytes = family_of(bundle, {"size": size}).inputs
    assert in_bytes == family_of(bundle, {"params": 1_000}).inputs


def test_a_width_that_was_asked_for_is_kept(bundle: Bundle, source: Source) -> None:
    assert family_of(bundle, {"params": 500}, embedding=4).inputs.embedding_widths == (4, 4)
    kept = encoded(source, {"params": 60}, embedding=4)
    assert kept.encoder == bundle.encoder


def test_the_tightest_limit_counts(bundle: Bundle) -> None:
    family = family_of(bundle, {})
    size = family.header_bytes + 400
    assert most_weights(family, {}) is None
    assert most_weights(family, {"flops": 3, "latency": 7}) is None
    assert most_weights(family, {"params": 300, "size": size}) == 400 // BYTES_A_WEIGHT
    assert most_weights(family, {"params": 30, "size": size}) == 30


def test_embeddings_get_narrower_than_their_share_where_nothing_else_fits(bundle: Bundle) -> None:
    narrowest = family_of(bundle, {}, widest=1)
    least = cheapest(narrowest.costs["params"])[0]
    found = family_of(bundle, {"params": least})
    assert set(found.inputs.embedding_widths) == {1}
    assert found.within({"params": least}).count() >= 1


def test_a_widest_embedding_that_was_given_is_kept(bundle: Bundle) -> None:
    wide = family_of(bundle, {"params": 10_000}).inputs
    assert family_of(bundle, {"params": 200}, widest=wide.widest).inputs == wide


def test_categories_are_capped_where_narrow_embeddings_are_too_many(
    bundle: Bundle, source: Source
) -> None:
    loose = encoded(source, {"params": 500})
    assert loose.encoder == bundle.encoder
    settings = settings_of({"params": 120})
    tight = encoded(source, {"params": 120})
    assert sum(bundle.encoder.cardinalities) > EMBEDDING_SHARE * 120
    found = make_family(settings, tight.encoder, tight.task).inputs
    assert set(found.embedding_widths) == {1}
    assert found.embedding_params <= EMBEDDING_SHARE * 120
    few = bundle.encoder.cardinalities[1]
    assert tight.encoder.cardinalities[1] == few  # only what is long is cut
    assert tight.encoder.cardinalities[0] > few
