"""The two files of a network in C: `model.c` and `model.h`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meritnas.exporting.c.constants import number_text
from meritnas.exporting.c.encoders import Encoder, encoder_of
from meritnas.exporting.c.real_source import Body
from meritnas.version import __version__
from meritnas.wording import visible_line

SOURCE = "model.c"
HEADER = "model.h"

_HEADER = """/*
{about}
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

{sizes}

#ifdef __cplusplus
extern "C" {{
#endif

{signature};

#ifdef __cplusplus
}}
#endif

#endif
"""

_SOURCE = """/* {title}
   See model.h. Written by meritnas {version}. C99; nothing is allocated. */

#include "model.h"

#include <math.h>
#include <string.h>

/* All that is computed, in one place: not for two threads at once. */
{arena}
{functions}{ends}{records}
/* Numbers that were learned. */
{constants}{encoder}
{signature}
{{
    encode({given});
{calls}
{answers}
}}
"""


@dataclass(frozen=True)
class Written:
    """A network in C.

    Attributes:
        files: `model.c` and `model.h`.
        arena_bytes: of what is computed.
        constant_bytes: of all that is constant.
        encoder_bytes: of these, what comes before the network.
    """

    files: Mapping[str, str]
    arena_bytes: int
    constant_bytes: int
    encoder_bytes: int


@dataclass(frozen=True)
class Arena:
    """The arena as C declares it.

    Attributes:
        declared: it alone.
        bytes: of it.
        numbers: what is in it, in words.
        ends: the functions `store` and `score`.
    """

    declared: str
    bytes: int
    numbers: str
    ends: str


def real_arena(size: int, given: int, scores: int) -> Arena:
    """One of so many numbers in single precision.

    Args:
        size: of it.
        given: where what the network reads begins.
        scores: where they begin.
    """
    declared = "static float arena[MODEL_ARENA_BYTES / sizeof(float)];\n"
    ends = f"""
static void store(int32_t place, float value)
{{
    arena[{given} + place] = value;
}}

static float score(int32_t place)
{{
    return arena[{scores} + place];
}}
"""
    return Arena(declared, 4 * size, "float32", ends)


def written(described: Mapping[str, Any], body: Body, arena: Arena) -> Written:
    """Both files.

    Args:
        described: what `preprocessing.json` holds.
        body: what the network is.
        arena: what it computes in.
    """
    encoder = encoder_of(described)
    answers = described["answers"]
    outputs = _outputs(answers)
    constants = body.constant_bytes + encoder.constants.bytes
    sizes = {
        **encoder.sizes,
        **outputs.sizes,
        "MODEL_ARENA_BYTES": arena.bytes,
        "MODEL_CONSTANT_BYTES": constants,
    }
    arguments = [text for text, _ in (*encoder.arguments, *outputs.arguments)]
    signature = "void model_run(" + ",\n               ".join(arguments) + ")"
    title = f"A network for {visible_line(str(answers['target']))}, {described['architecture']}."
    header = _HEADER.format(
        about="\n".join(f" * {line}".rstrip() for line in _about(title, encoder, outputs, arena)),
        sizes="\n".join(f"#define {name} {size}" for name, size in sizes.items()),
        signature=signature,
    )
    source = _SOURCE.format(
        title=_plain(title),
        version=__version__,
        arena=arena.declared,
        functions=body.functions,
        ends=arena.ends,
        records=encoder.records,
        constants=encoder.constants.text + body.constants,
        encoder=encoder.text,
        signature=signature,
        given=", ".join(name for _, name in encoder.arguments),
        calls="\n".join(f"    {call}" for call in body.calls),
        answers=outputs.text,
    )
    files = {SOURCE: source, HEADER: header}
    return Written(files, arena.bytes, constants, encoder.constants.bytes)


@dataclass(frozen=True)
class _Outputs:
    """What goes out: see `Encoder`."""

    arguments: tuple[tuple[str, str], ...]
    sizes: Mapping[str, int]
    about: Sequence[str]
    text: str


_SCORES = """
    {
        int32_t n;
        for (n = 0; n < MODEL_SCORES; ++n)
            scores[n] = score(n);
    }"""
_SOFTMAX = """
    {
        float most = scores[0], sum = 0.0f;
        int32_t n;
        for (n = 1; n < MODEL_SCORES; ++n)
            most = scores[n] > most ? scores[n] : most;
        for (n = 0; n < MODEL_SCORES; ++n)
            sum += probabilities[n] = expf(scores[n] - most);
        for (n = 0; n < MODEL_SCORES; ++n)
            probabilities[n] /= sum;
    }"""
_EACH = """
    {
        int32_t n;
        for (n = 0; n < MODEL_SCORES; ++n)
            probabilities[n] = 1.0f / (1.0f + expf(-scores[n]));
    }"""
_BINARY = """
    probabilities[1] = 1.0f / (1.0f + expf(-scores[0]));
    probabilities[0] = 1.0f - probabilities[1];"""
_ANSWERS = {"multiclass": _SOFTMAX, "multilabel": _EACH, "binary": _BINARY}


def _outputs(answers: Mapping[str, Any]) -> _Outputs:
    kind, target = answers["task"], visible_line(str(answers["target"]))
    scores = ("float scores[MODEL_SCORES]", "scores")
    if kind == "regression":
        mean, scale = (number_text("double", answers[name]) for name in ("mean", "scale"))
        text = f"{_SCORES}\n    *predicted = (double)scores[0] * {scale} + {mean};"
        about = [
            "scores: what the network says, in standard deviations from the mean.",
            f"predicted: {target}, on its own scale.",
        ]
        arguments = (scores, ("double *predicted", "predicted"))
        return _Outputs(arguments, {"MODEL_SCORES": 1}, about, text)
    classes = [visible_line(str(each)) for each in answers["classes"]]
    sizes = {"MODEL_SCORES": 1 if kind == "binary" else len(classes)}
    sizes["MODEL_CLASSES"] = len(classes)
    what = "of each label by itself" if kind == "multilabel" else f"of each class of {target}"
    about = [f"scores: {answers['scores']}.", f"probabilities: {what}:"]
    about += [f"  [{number}] {name}" for number, name in enumerate(classes)]
    if kind == "binary":
        cut = answers["threshold"]
        about.append(f"  the second is the answer where its probability is above {cut:.6g}")
    arguments = (scores, ("float probabilities[MODEL_CLASSES]", "probabilities"))
    return _Outputs(arguments, sizes, about, _SCORES + _ANSWERS[kind])


def _about(title: str, encoder: Encoder, outputs: _Outputs, arena: Arena) -> list[str]:
    lines = [title, "", "Comes in:", *_indented(encoder.about)]
    lines += ["Goes out:", *_indented(outputs.about), ""]
    lines += [
        f"The arena is {arena.bytes} bytes of {arena.numbers}; arguments are the caller's, and a",
        "few dozen numbers are on the stack. It is one for all calls: call from one thread at a",
        "time. For example:",
        "",
        *_indented(_example(encoder, outputs)),
    ]
    return [_plain(line) for line in lines]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _example(encoder: Encoder, outputs: _Outputs) -> list[str]:
    declared, given = [], []
    for text, name in (*encoder.arguments, *outputs.arguments):
        pointer = text.endswith(f"*{name}")
        plain = text.removeprefix("const ").replace(f"*{name}", name)
        reads = (text, name) in encoder.arguments
        declared.append(plain + (" = {0};" if reads else ";"))
        given.append(f"&{name}" if pointer else name)
    last = outputs.arguments[-1][1]
    index = "" if last == "predicted" else "[0]"
    return [
        "#include <stdio.h>",
        '#include "model.h"',
        "",
        "int main(void) {",
        *(f"    {line}" for line in declared),
        f"    model_run({', '.join(given)});",
        f'    printf("%g\\n", {last}{index});',
        "    return 0;",
        "}",
    ]


def _plain(line: str) -> str:
    """A line that no comment ends in, in ASCII."""
    told = line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")
    return told.rstrip("\\").encode("ascii", "backslashreplace").decode()
