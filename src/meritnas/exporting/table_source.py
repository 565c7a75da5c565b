from __future__ import annotations

from torch import nn

from meritnas.families.tabular.embed import EmbedTable


def table_source(module: nn.Module) -> str:
    """The class `Network`, and `EmbedTable` if there are categories, of a network for tables."""
    parts = dict(module.named_children())
    embed = parts.get("inputs")
    linear = [p for p in parts.values() if isinstance(p, nn.Linear)]
    *hidden, output = linear
    made, run = "", ""
    before = "inputs"
    columns = linear[0].in_features
    if isinstance(embed, EmbedTable):
        columns = embed.numbers + sum(len(group) for group in embed.columns)
        made = "        self.inputs = EmbedTable()\n"
        before = "self.inputs(inputs)"
    for i, layer in enumerate(hidden, start=1):
        width = layer.out_features
        made += f"        self.linear{i} = nn.Linear({layer.in_features}, {width})\n"
        made += f"        self.norm{i} = nn.LayerNorm({width}, elementwise_affine=False)\n"
        run += f"        units = torch.relu(self.norm{i}(self.linear{i}({before})))\n"
        before = "units"
    made += f"        self.output = nn.Linear({output.in_features}, {output.out_features})\n"
    found = f'''class Network(nn.Module):
    """Layers one after the other: linear, layer norm, ReLU."""

    def __init__(self) -> None:
        super().__init__()
{made}
    def forward(self, inputs: Tensor) -> Tensor:
        """Encoded rows [n, {columns}] -> scores [n, {output.out_features}]."""
{run}        return self.output({before})
'''
    return _embed(embed) + found if isinstance(embed, EmbedTable) else found


def _embed(embed: EmbedTable) -> str:
    tables, parts = "", ""
    for number, (columns, table) in enumerate(zip(embed.columns, embed.tables, strict=True)):
        rows, width = table.shape
        starts = getattr(embed, f"starts{number}").tolist()
        tables += f"                torch.zeros({rows}, {width}),\n"
        parts += f"            (self.tables[{number}], {list(columns)}, {starts}),\n"
    return f'''class EmbedTable(nn.Module):
    """Numbers as they are, codes as the rows of tables; columns of one width share a table."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ParameterList(
            [
{tables}            ]
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """{embed.numbers} numbers and {sum(map(len, embed.columns))} codes a row -> all numbers."""
        numbers, codes = inputs[:, :{embed.numbers}], inputs[:, {embed.numbers}:].long()
        parts = [numbers]
        for table, columns, first_rows in (
{parts}        ):
            rows = codes[:, columns] + codes.new_tensor(first_rows)
            parts.append(table[rows].flatten(1))
        return torch.cat(parts, dim=1)


'''
