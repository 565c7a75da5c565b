"""Genotypes and sizes that papers and the networks behind them give."""

from __future__ import annotations

from dataclasses import dataclass

SHORT = {
    "skip": "skip_connect",
    "max": "max_pool_3x3",
    "avg": "avg_pool_3x3",
    "sep3": "sep_conv_3x3",
    "sep5": "sep_conv_5x5",
    "dil3": "dil_conv_3x3",
    "dil5": "dil_conv_5x5",
}


def pairs(short: str) -> list[tuple[str, int]]:
    """`sep3<-1 sep3<-0 | ...` as (operation, state) pairs."""
    words = [word.split("<-") for word in short.replace("|", " ").split()]
    return [(SHORT[name], int(state)) for name, state in words]


def genotype(normal: str, reduce: str) -> str:
    """As people write it."""
    cells = (("normal", pairs(normal)), ("reduce", pairs(reduce)))
    fields = [f"{name}={cell}, {name}_concat=[2, 3, 4, 5]" for name, cell in cells]
    return f"Genotype({', '.join(fields)})"


def uniform(short: str) -> str:
    """Every node has the same operation from states 0 and 1."""
    cell = f"{short}<-0 {short}<-1 " * 4
    return genotype(cell, cell)


@dataclass(frozen=True)
class Published:
    """A genotype and the numbers of weights of its networks.

    Attributes:
        text: the genotype.
        cifar: 36 channels, 20 cells, 10 classes.
        with_auxiliary: the same with the auxiliary head.
        imagenet: 48 channels, 14 cells, 1000 classes.
        small: 16 channels, 8 cells, 10 classes.
    """

    text: str
    cifar: int
    with_auxiliary: int
    imagenet: int
    small: int


PUBLISHED = {
    "DARTS_V1": Published(
        genotype(
            "sep3<-1 sep3<-0 | skip<-0 sep3<-1 | skip<-0 sep3<-1 | sep3<-0 skip<-2",
            "max<-0 max<-1 | skip<-2 max<-0 | max<-0 skip<-2 | skip<-2 avg<-0",
        ),
        *(3_169_414, 3_645_840, 4_510_432, 232_890),
    ),
    "DARTS_V2": Published(
        genotype(
            "sep3<-0 sep3<-1 | sep3<-0 sep3<-1 | sep3<-1 skip<-0 | skip<-0 dil3<-2",
            "max<-0 max<-1 | skip<-2 max<-1 | max<-0 skip<-2 | skip<-2 max<-1",
        ),
        *(3_349_342, 3_825_768, 4_718_752, 246_106),
    ),
    "PC-DARTS": Published(
        genotype(
            "sep3<-1 skip<-0 | sep3<-0 dil3<-1 | sep5<-0 sep3<-1 | avg<-0 dil3<-1",
            "sep5<-1 max<-0 | sep5<-1 sep5<-2 | sep3<-0 sep3<-3 | sep3<-1 sep3<-2",
        ),
        *(3_634_678, 4_111_104, 5_270_560, 335_738),
    ),
    "Shapley-NAS": Published(
        genotype(
            "sep3<-0 sep3<-1 | sep3<-1 dil3<-0 | dil3<-2 skip<-3 | sep3<-1 dil5<-3",
            "sep3<-1 max<-0 | dil5<-2 sep3<-0 | sep3<-2 max<-0 | dil3<-3 skip<-2",
        ),
        *(3_603_358, 4_079_784, 5_138_848, 300_634),
    ),
}

UNIFORM = {
    "max": (1_370_134, 100_730),
    "avg": (1_370_134, 100_730),
    "skip": (1_580_950, 143_226),
    "sep3": (4_701_718, 411_002),
    "sep5": (5_144_086, 492_922),
    "dil3": (3_035_926, 255_866),
    "dil5": (3_257_110, 296_826),
}
"""Weights with 36 channels and 20 cells, and with 16 channels and 8 cells."""
