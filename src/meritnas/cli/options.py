"""What users can set on the command line; a value that was not given is None.

Defaults live in the library alone; `show_default` only repeats them for `--help`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from meritnas.cli.newer_version import tell_newer_version

_SPACE = "Space"
_CELLS = "Networks of cells, for images"
_IMAGES = "Training images"
_TEXT = "Texts and language models"
_FUSION = "Several modalities"
_TRAINING = "Training"
_STRATEGY = "Strategy options (each strategy has some: meritnas list strategies)"
_RUN = "Run"

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="A table (CSV, TSV, gz, Parquet); images (a folder per class, npz, idx, CIFAR); a "
        "text (--space recurrent); an npz with an array for each modality (--space fusion); or "
        "digits, breast_cancer, wine, diabetes, mnist5k.",
        show_default=False,
    ),
]
ShownRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that a search wrote.")]
Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="The folder that a search wrote.", callback=tell_newer_version
    ),
]
SkipBadRows = Annotated[
    bool | None,
    typer.Option("--skip-bad-rows", help="Leave out rows of a file with too many fields."),
]
Target = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column to predict.")]
MaxParams = Annotated[
    int | None, typer.Option(help="Most parameters the network may have, embeddings included.")
]
MaxFlops = Annotated[int | None, typer.Option(help="Most multiply-adds a row or image may take.")]
MaxSizeKb = Annotated[
    float | None, typer.Option(help="Most kilobytes (1,000 bytes) the stored network may have.")
]
MaxLatencyMs = Annotated[
    float | None,
    typer.Option(help="Most milliseconds a row may take on this machine, by timed layers."),
]
Pareto = Annotated[
    bool | None,
    typer.Option("--pareto", help="Also find networks for a ladder of smaller limits."),
]
StrategyName = Annotated[
    str | None,
    typer.Option(
        help="How to search.",
        show_default="tabnas; fusion: sm-shapley; texts, images: advantage",
        metavar="NAME",
    ),
]
Task = Annotated[
    Literal["classification", "regression"] | None,
    typer.Option(help="classification or regression.", show_default="found out", metavar="KIND"),
]

SpaceName = Annotated[
    str | None,
    typer.Option(
        help="The kind of network.",
        show_default="tabular; images: nasbench201",
        metavar="NAME",
        rich_help_panel=_SPACE,
    ),
]
Layers = Annotated[
    int | None, typer.Option(help="Hidden layers.", show_default="3", rich_help_panel=_SPACE)
]
Widths = Annotated[
    str | None,
    typer.Option(
        help='What layers choose from: "8,16,32", or for each layer "8,16;16,32,64".',
        show_default="20 sizes from 8 to 512",
        metavar="LIST",
        rich_help_panel=_SPACE,
    ),
]
Embedding = Annotated[
    int | None,
    typer.Option(
        help="Width of every category's embedding.",
        show_default="by number of categories",
        rich_help_panel=_SPACE,
    ),
]

Preset = Annotated[
    Literal["quick", "paper"] | None,
    typer.Option(
        help="Where all else about images or texts comes from: quick (minutes) or paper.",
        show_default="quick",
        metavar="NAME",
        rich_help_panel=_CELLS,
    ),
]
Channels = Annotated[
    int | None,
    typer.Option(help="Of the first cells.", show_default="by preset", rich_help_panel=_CELLS),
]
Cells = Annotated[
    int | None,
    typer.Option(
        help="In each of 3 stages (nasbench201), or in all (darts, fusion).",
        show_default="by preset",
        rich_help_panel=_CELLS,
    ),
]
Zero = Annotated[
    bool | None,
    typer.Option(
        "--zero/--no-zero",
        help="Whether edges may be left out (nasbench201).",
        show_default="zero",
        rich_help_panel=_CELLS,
    ),
]
Stem = Annotated[
    Literal["cifar", "imagenet"] | None,
    typer.Option(
        help="cifar, or imagenet for large images (darts).",
        show_default="cifar",
        metavar="KIND",
        rich_help_panel=_CELLS,
    ),
]
SupernetChannels = Annotated[
    int | None,
    typer.Option(
        help="Of the supernet's first cells.", show_default="by preset", rich_help_panel=_CELLS
    ),
]
SupernetCells = Annotated[
    int | None,
    typer.Option(help="Of the supernet.", show_default="by preset", rich_help_panel=_CELLS),
]
PartialChannels = Annotated[
    int | None,
    typer.Option(
        help="K: operations see 1/K of the supernet's channels.",
        show_default="1; pc-darts, shapley on darts: 4",
        rich_help_panel=_CELLS,
    ),
]
Level = Annotated[
    Literal["word", "character"] | None,
    typer.Option(
        help="What a text is made of: word or character.",
        show_default="word",
        metavar="NAME",
        rich_help_panel=_TEXT,
    ),
]
Vocabulary = Annotated[
    int | None,
    typer.Option(
        help="The most words that are told apart.", show_default="10000", rich_help_panel=_TEXT
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        help="Words as far as gradients go back.", show_default="35", rich_help_panel=_TEXT
    ),
]
Width = Annotated[
    int | None,
    typer.Option(
        help="Of embeddings, state and nodes.", show_default="by preset", rich_help_panel=_TEXT
    ),
]
Nodes = Annotated[
    int | None,
    typer.Option(help="Of the recurrent cell.", show_default="3", rich_help_panel=_TEXT),
]
Predecessors = Annotated[
    int | None,
    typer.Option(
        help="1 for one edge into each node.", show_default="all edges", rich_help_panel=_TEXT
    ),
]
Length = Annotated[
    int | None,
    typer.Option(
        help="Positions of every joined state.", show_default="by preset", rich_help_panel=_FUSION
    ),
]
Steps = Annotated[
    int | None,
    typer.Option(help="Inner steps of a fusion cell.", show_default="1", rich_help_panel=_FUSION),
]
Operations = Annotated[
    Literal["all", "normal", "sparse", "bm-nas"] | None,
    typer.Option(
        help="What steps choose from: all, normal, sparse or bm-nas.",
        show_default="all",
        metavar="NAME",
        rich_help_panel=_FUSION,
    ),
]
Shared = Annotated[
    bool | None,
    typer.Option(
        "--shared",
        help="Both inputs of a cell are one mixture while searching.",
        rich_help_panel=_FUSION,
    ),
]
UnimodalOnly = Annotated[
    bool | None,
    typer.Option(
        "--unimodal-only",
        help="Cells join features only, not what earlier cells gave.",
        rich_help_panel=_FUSION,
    ),
]
NewInputs = Annotated[
    bool | None,
    typer.Option(
        "--new-inputs/--no-new-inputs",
        help="Each cell reads a feature that no cell before it reads, while there is one.",
        show_default="new-inputs",
        rich_help_panel=_FUSION,
    ),
]
Sparsity = Annotated[
    float | None,
    typer.Option(
        help="lambda_1 of sparse operations.", show_default="0.1", rich_help_panel=_FUSION
    ),
]
TextForm = Annotated[
    Literal["counted", "hashed"] | None,
    typer.Option(
        help="How texts become numbers: counted or hashed n-grams.",
        show_default="counted",
        metavar="NAME",
        rich_help_panel=_FUSION,
    ),
]
TextColumns = Annotated[
    int | None,
    typer.Option(help="How many numbers.", show_default="1024", rich_help_panel=_FUSION),
]
Modalities = Annotated[
    list[str] | None,
    typer.Option(
        "--modality",
        help="A modality to use, instead of all; for a table NAME=COLUMN,COLUMN. May be repeated.",
        metavar="NAME",
        show_default=False,
        rich_help_panel=_FUSION,
    ),
]
Backbones = Annotated[
    list[str] | None,
    typer.Option(
        "--backbone",
        help="A network that reads a modality first and is trained along. May be repeated.",
        metavar="NAME=MODULE:FUNCTION",
        show_default="a small one for pictures",
        rich_help_panel=_FUSION,
    ),
]
FrozenBackbones = Annotated[
    list[str] | None,
    typer.Option(
        "--frozen-backbone",
        help="The same of one that is not trained: its features are computed once.",
        metavar="NAME=MODULE:FUNCTION",
        show_default=False,
        rich_help_panel=_FUSION,
    ),
]
ImageSize = Annotated[
    int | None,
    typer.Option(
        help="Pixels that images are resized to.",
        show_default="as they are; pictures at most 64",
        rich_help_panel=_IMAGES,
    ),
]
Crop = Annotated[
    int | None,
    typer.Option(
        help="Images are moved by up to so many pixels.",
        show_default="by preset",
        rich_help_panel=_IMAGES,
    ),
]
Flip = Annotated[
    bool | None,
    typer.Option(
        "--flip/--no-flip",
        help="Whether half of them are mirrored.",
        show_default="with colours only",
        rich_help_panel=_IMAGES,
    ),
]
Cutout = Annotated[
    int | None,
    typer.Option(
        help="Side of a square that is blanked in each.",
        show_default="by preset",
        rich_help_panel=_IMAGES,
    ),
]
Auxiliary = Annotated[
    float | None,
    typer.Option(
        help="Weight of an auxiliary head's loss (darts).",
        show_default="by preset",
        rich_help_panel=_IMAGES,
    ),
]
Warmup = Annotated[
    float | None,
    typer.Option(
        help="Part of the search that trains weights only.",
        show_default="0.25; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
Clip = Annotated[
    float | None,
    typer.Option(
        help="Most that the norm of all gradients may be.",
        show_default="no bound; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]

Epochs = Annotated[
    int | None,
    typer.Option(
        help="Passes of the search over the data.",
        show_default="60, more on small tables; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
Minutes = Annotated[
    float | None,
    typer.Option(help="Time for everything, instead of --epochs.", rich_help_panel=_TRAINING),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        help="Rows or images a step.",
        show_default="by number of rows; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
LearningRate = Annotated[
    float | None,
    typer.Option(
        help="Of the weights.", show_default="0.01; images: by preset", rich_help_panel=_TRAINING
    ),
]
Optimizer = Annotated[
    Literal["adam", "sgd"] | None,
    typer.Option(
        help="Of the weights.", show_default="adam; images: by preset", rich_help_panel=_TRAINING
    ),
]
Schedule = Annotated[
    Literal["cosine", "constant"] | None,
    typer.Option(
        help="Of the learning rate.",
        show_default="cosine; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
WeightDecay = Annotated[
    float | None,
    typer.Option(
        help="How fast matrices shrink.",
        show_default="0.3; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
Dropout = Annotated[
    float | None,
    typer.Option(
        help="Share of units (or edges) left out, when trained alone.",
        show_default="0 and 0.1 are tried; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
Averaging = Annotated[
    float | None,
    typer.Option(
        help="Decay of the average of weights that is kept, when trained alone.",
        show_default="0.99; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
Scaling = Annotated[
    Literal["auto", "standard", "quantile"] | None,
    typer.Option(
        help="Of numbers: standard, quantile, or auto to try both.",
        show_default="auto",
        metavar="KIND",
        rich_help_panel=_TRAINING,
    ),
]
ClassWeight = Annotated[
    Literal["balanced"] | None,
    typer.Option(
        help="balanced: classes count alike, however rare.",
        metavar="KIND",
        rich_help_panel=_TRAINING,
    ),
]
Finalists = Annotated[
    int | None,
    typer.Option(
        help="How many of the search's favourites are trained alone.",
        show_default="3; images: 2",
        rich_help_panel=_TRAINING,
    ),
]
RetrainEpochs = Annotated[
    int | None,
    typer.Option(
        help="Passes of a network trained alone.",
        show_default="40, more on small tables; images: by preset",
        rich_help_panel=_TRAINING,
    ),
]
RetrainSeeds = Annotated[
    int | None,
    typer.Option(
        help="How often the winner is trained, for the spread of its score.",
        show_default="3; images: 1",
        rich_help_panel=_TRAINING,
    ),
]

Sampling = Annotated[
    Literal["conditional", "rejection", "monte-carlo", "uncorrected", "unrestricted"] | None,
    typer.Option(
        help="How networks are drawn: conditional, rejection, monte-carlo, uncorrected or "
        "unrestricted.",
        metavar="LAW",
        rich_help_panel=_STRATEGY,
    ),
]
McSamples = Annotated[
    int | None, typer.Option(help="Samples of monte-carlo.", rich_help_panel=_STRATEGY)
]
Final = Annotated[
    Literal["ranked", "largest", "mode", "argmax", "process-best", "draw"] | None,
    typer.Option(help="How the final network is chosen.", rich_help_panel=_STRATEGY),
]
PolicyRate = Annotated[
    float | None, typer.Option(help="Learning rate of the policy.", rich_help_panel=_STRATEGY)
]
Samples = Annotated[
    int | None, typer.Option(help="Networks for each policy step.", rich_help_panel=_STRATEGY)
]
Form = Annotated[
    Literal["paper", "code"] | None,
    typer.Option(
        help="Of PARSEC: as in its paper, or as in AdvantageNAS' code.",
        metavar="NAME",
        rich_help_panel=_STRATEGY,
    ),
]
EdgeNormalisation = Annotated[
    bool | None,
    typer.Option(
        "--edge-normalisation/--no-edge-normalisation",
        help="Whether PC-DARTS weighs the edges of a node.",
        show_default="on",
        rich_help_panel=_STRATEGY,
    ),
]
Beta = Annotated[
    float | None,
    typer.Option(help="Strength of the penalty, below 0.", rich_help_panel=_STRATEGY),
]
WeightDraws = Annotated[
    Literal["policy", "feasible"] | None,
    typer.Option(help="Where networks for weight steps come from.", rich_help_panel=_STRATEGY),
]
Baseline = Annotated[
    Literal["average", "paired", "none"] | None,
    typer.Option(help="What rewards are compared with.", rich_help_panel=_STRATEGY),
]
Population = Annotated[
    int | None, typer.Option(help="Size of evolution's population.", rich_help_panel=_STRATEGY)
]
Tournament = Annotated[
    int | None, typer.Option(help="Size of evolution's tournament.", rich_help_panel=_STRATEGY)
]
Initial = Annotated[
    int | None,
    typer.Option(help="Random networks before the Gaussian process.", rich_help_panel=_STRATEGY),
]
Estimator = Annotated[
    Literal["permutation", "regression"] | None,
    typer.Option(help="How Shapley values are found.", metavar="NAME", rich_help_panel=_STRATEGY),
]
Permutations = Annotated[
    int | None,
    typer.Option(help="Orders in which options are taken away.", rich_help_panel=_STRATEGY),
]
Truncation = Annotated[
    float | None,
    typer.Option(
        help="Stop taking options away at this share of the whole score; 0 for never.",
        rich_help_panel=_STRATEGY,
    ),
]
Momentum = Annotated[
    float | None,
    typer.Option(help="How long Shapley values are remembered.", rich_help_panel=_STRATEGY),
]
Step = Annotated[
    float | None,
    typer.Option(help="How far Shapley values move weights.", rich_help_panel=_STRATEGY),
]
Normalisation = Annotated[
    Literal["table", "edge", "global", "zscore"] | None,
    typer.Option(
        help="Over what Shapley values are scaled.", metavar="NAME", rich_help_panel=_STRATEGY
    ),
]
Variant = Annotated[
    Literal["paper", "released"] | None,
    typer.Option(
        help="Of Shapley-NAS: its paper, or its code.", metavar="NAME", rich_help_panel=_STRATEGY
    ),
]
Antithetic = Annotated[
    bool | None,
    typer.Option(
        "--antithetic/--no-antithetic",
        help="Whether each order is also taken backwards.",
        show_default="on",
        rich_help_panel=_STRATEGY,
    ),
]
JudgedRows = Annotated[
    int | None,
    typer.Option(help="Validation rows that options are judged on.", rich_help_panel=_STRATEGY),
]
Confidence = Annotated[
    float | None,
    typer.Option(help="End an estimate where ranks are this certain.", rich_help_panel=_STRATEGY),
]
Exploration = Annotated[
    float | None,
    typer.Option(
        help="How often MANAS' agents choose anything.",
        show_default="by rounds",
        rich_help_panel=_STRATEGY,
    ),
]
JudgedBy = Annotated[
    Literal["loss", "error"] | None,
    typer.Option(help="What MANAS' agents are blamed for.", rich_help_panel=_STRATEGY),
]
Memory = Annotated[
    float | None,
    typer.Option(help="How much a regression counts in the next one.", rich_help_panel=_STRATEGY),
]
NormalSamples = Annotated[
    int | None,
    typer.Option(
        help="Orders for edges and normal operations (sm-shapley).", rich_help_panel=_STRATEGY
    ),
]
SparseSamples = Annotated[
    int | None,
    typer.Option(help="Orders for sparse operations (sm-shapley).", rich_help_panel=_STRATEGY),
]
GradientShare = Annotated[
    float | None,
    typer.Option(
        help="Part of the search in which gradients lead (sm-shapley).", rich_help_panel=_STRATEGY
    ),
]
Grouped = Annotated[
    bool | None,
    typer.Option(
        "--grouped/--no-grouped",
        help="Whether sparse operations get orders of their own (sm-shapley).",
        show_default="on",
        rich_help_panel=_STRATEGY,
    ),
]
Proportional = Annotated[
    bool | None,
    typer.Option(
        "--proportional/--no-proportional",
        help="Whether strong operations get more orders (sm-shapley).",
        show_default="as grouped",
        rich_help_panel=_STRATEGY,
    ),
]
Both = Annotated[
    bool | None,
    typer.Option(
        "--both", help="Gradient steps in every epoch (sm-shapley).", rich_help_panel=_STRATEGY
    ),
]

Seed = Annotated[
    int | None,
    typer.Option(help="Same seed, same result.", show_default="0", rich_help_panel=_RUN),
]
Device = Annotated[
    str | None,
    typer.Option(help="cpu, cuda, ...", show_default="cpu", rich_help_panel=_RUN),
]
Threads = Annotated[
    int | None,
    typer.Option(
        help="CPU threads.", show_default="1, or all for large batches", rich_help_panel=_RUN
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The run's folder; it must not exist.",
        show_default="a new one in runs/",
        metavar="DIR",
        rich_help_panel=_RUN,
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        help="Continue this run instead.",
        metavar="RUN",
        rich_help_panel=_RUN,
        callback=tell_newer_version,
    ),
]
Live = Annotated[
    bool,
    typer.Option(
        "--live", help="Show the report in a browser while it grows.", rich_help_panel=_RUN
    ),
]
LivePort = Annotated[
    int | None,
    typer.Option(
        help="For --live, on this machine only.",
        show_default="a free one",
        min=1,
        max=65535,
        rich_help_panel=_RUN,
    ),
]
TensorBoard = Annotated[
    bool,
    typer.Option(
        "--tensorboard",
        help="Also write curves for TensorBoard, into the run's folder.",
        rich_help_panel=_RUN,
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No progress, no notes.", rich_help_panel=_RUN)
]
AsJson = Annotated[
    bool, typer.Option("--json", help="The result as one JSON object.", rich_help_panel=_RUN)
]
