"""Tables of audits, for the terminal and as a page of the documentation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from workbench.audits.findings import Audit, Finding, Kind, Status
from workbench.base.text_tables import Style, format_table

_ENDS = (Status.REFUSED, Status.NOT_READ, Status.CRASHED, Status.TIMED_OUT, Status.NOT_JUDGED)


def report(audits: Sequence[Audit]) -> str:
    """Counts by engine, then every finding with its program."""
    parts = [_counts(audits)]
    for audit in audits:
        if audit.status is not Status.AUDITED:
            reason = f": {audit.reason}" if audit.reason else ""
            parts.append(f"{audit.name}, {audit.engine}: {audit.status}{reason}")
        parts += [_finding_text(audit, finding) for finding in audit.findings]
        parts += [
            f"{audit.name}, {audit.engine}: {_display_text(str(policy))}"
            for policy in audit.policies
        ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _counts(audits: Sequence[Audit], style: Style = "text") -> str:
    rows: list[tuple[str, ...]] = [
        ("", "constraints", "refused", "other ends", "audited", "over", "under", "by policy",
         "no difference"),
    ]  # fmt: skip
    for engine, engine_audits in by_engine(audits).items():
        ends = Counter(audit.status for audit in engine_audits)
        audited = [audit for audit in engine_audits if audit.status is Status.AUDITED]
        other = sum(ends[status] for status in _ENDS) - ends[Status.REFUSED]
        rows.append(
            (
                engine,
                str(len(engine_audits)),
                str(ends[Status.REFUSED]),
                str(other),
                str(len(audited)),
                str(sum(audit.found(Kind.OVER) is not None for audit in audited)),
                str(sum(audit.found(Kind.UNDER) is not None for audit in audited)),
                str(sum(bool(audit.policies) and not audit.claims for audit in audited)),
                str(sum(not audit.claims and not audit.policies for audit in audited)),
            )
        )
    return format_table(rows, style)


def by_engine(audits: Iterable[Audit]) -> dict[str, list[Audit]]:
    """The audits of each engine, by its name and version."""
    grouped: dict[str, list[Audit]] = {}
    for audit in audits:
        grouped.setdefault(f"{audit.engine} {audit.version}".strip(), []).append(audit)
    return grouped


def _finding_text(audit: Audit, finding: Finding) -> str:
    lines = [
        f"{audit.name}, {audit.engine} {audit.version}: {finding.kind}",
        f"  {finding}",
        f"  in {finding.place or 'the root'}; {finding.evidence}",
        f"  whole text: {_display_text(finding.text)}",
    ]
    reproduction = finding.reproduction
    if reproduction is not None:
        state = (
            "confirmed"
            if reproduction.confirmed
            else f"not confirmed, printed {reproduction.printed!r}"
        )
        lines.append(f"  reproduction ({state}):\n")
        lines += [f"    {line}" if line else "" for line in reproduction.program.splitlines()]
    return "\n".join(lines)


_READING = """\
`workbench audit` compares an engine's masks with the exact ones. Along a valid text every next
token has to be allowed: an engine that forbids one is **over-constraining**. A token after which
no text of the language follows must not be allowed: an engine that allows one is
**under-constraining**. Every claim is checked independently of the exact engine:

* Over-constraining is claimed only for a whole text that `jsonschema` accepts, format included,
  and that the engine refuses in every spelling that was tried: three layouts, letters and escapes,
  numbers with and without exponent, and the members of objects in several orders (declared order,
  the instance's, those of `required`, `const` and `enum`, and 60 at random). An object of many
  members has more orders, so a claim about one may still be about the order alone.
* Under-constraining is claimed only for a whole text that the engine accepts and `jsonschema`
  refuses, format left out. The text is a mutant of a valid text, or the engine's masks allowed all
  of its tokens. The exact engine says that no text of the language begins with the text up to the
  reported token.
* A grammar that is no schema is judged by Earley's recogniser instead, which shares no machine
  with the masks.
* What a schema does not determine is no error. It is counted as **by policy**: white space,
  property order, number formats, escapes, lone surrogates, repeated names, `format`, properties
  that no keyword mentions, and the type implied by keywords such as `properties`. The options are
  those that come closest to this library: xgrammar `any_whitespace=True, strict_mode=False`,
  llguidance `no_forcing`, Outlines a white space pattern that allows any white space.
* Each claim was shortened (delta debugging), and its program, which imports the engine alone, was
  run: **confirmed** means that it printed what is claimed. A finding of level `token` is wrong
  only for tokens of several bytes.

"No difference" means that these texts show no difference; other texts may show one. A schema
counts once for each kind and engine.
"""

#: Keywords that restrict instances, or refer to what does, as in drafts 4 to 2020-12.
_KEYWORDS = {
    "$ref", "$dynamicRef", "additionalItems", "additionalProperties", "allOf", "anyOf",
    "const", "contains", "dependencies", "dependentRequired", "dependentSchemas", "else",
    "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "if", "items", "maxContains",
    "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems",
    "minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern",
    "patternProperties", "prefixItems", "properties", "propertyNames", "required", "then",
    "type", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
}  # fmt: skip
#: Keywords that most schemas have, left out of a cause if there are others.
_USUAL = {"type", "properties", "items", "required"}

#: Keywords whose members are names or values, not keywords.
_NAMES = {"properties", "patternProperties", "$defs", "definitions", "enum", "const"}

#: A shortened schema with more keywords does not show the cause.
_MAX_KEYWORDS = 3

#: Characters of a shortened schema that are printed.
_MAX_SCHEMA = 140


def page(audits: Sequence[Audit], commands: Sequence[str]) -> str:
    """The audits as a page: how to read them, counts, causes, and a command for each claim."""
    ran = "\n".join(f"    {command}" for command in commands)
    parts = [
        "# Audits of other engines' masks",
        "This page is the output of `workbench audit --page`.",
        f"## How to read an audit\n\n{_READING}",
        f"## Counts\n\n{ran}\n\n{_counts(audits, 'markdown')}",
        _policies(audits),
        f"## Claims by cause\n\n{_causes(audits)}",
        f"## Every claim\n\n{_claims(audits)}",
        _ours(audits),
    ]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _policies(audits: Sequence[Audit]) -> str:
    rows: list[tuple[object, ...]] = [("engine, difference of interpretation", "constraints")]
    for engine, engine_audits in by_engine(audits).items():
        counts = Counter(policy.name for audit in engine_audits for policy in audit.policies)
        rows += [(f"{engine}, {policy}", count) for policy, count in counts.most_common()]
    return f"## By policy\n\n{format_table(rows, 'markdown')}" if len(rows) > 1 else ""


def keywords(schema: object) -> set[str]:
    """The keywords of a schema."""
    if isinstance(schema, list):
        return set().union(*map(keywords, schema))
    if not isinstance(schema, dict):
        return set()
    names = set(schema)
    for name, inner in schema.items():
        parts = inner.values() if name in _NAMES and isinstance(inner, dict) else [inner]
        if name not in ("enum", "const", "required"):
            names = names.union(*map(keywords, parts))
    return names


def cause(finding: Finding) -> str:
    """The keywords of the shortened schema; for a grammar only that it is one."""
    if finding.reproduction is None:
        return "not shortened"
    try:
        used = keywords(json.loads(finding.reproduction.constraint))
    except ValueError:
        return "grammar"
    named = sorted((used & _KEYWORDS) - _USUAL or used & _KEYWORDS)
    if len(named) > _MAX_KEYWORDS:
        return "longer combinations"
    return ", ".join(f"`{word}`" for word in named) or "any schema"


def _causes(audits: Sequence[Audit]) -> str:
    """The claims of each engine by the keywords of the shortened schemas, with an example."""
    rows: list[tuple[object, ...]] = [
        ("engine: keywords of the shortened schema", "claims", "confirmed", "shortest example")
    ]
    for engine, engine_audits in by_engine(audits).items():
        for kind in (Kind.OVER, Kind.UNDER):
            groups: dict[str, list[tuple[str, Finding]]] = {}
            for audit in engine_audits:
                if (finding := audit.found(kind)) is not None:
                    groups.setdefault(cause(finding), []).append((audit.name, finding))
            for name, members in sorted(groups.items(), key=lambda item: -len(item[1])):
                sure = sum(_is_confirmed(finding) for _, finding in members)
                rows.append((f"{engine} {kind}: {name}", len(members), sure, _example(members)))
    return format_table(rows, "markdown")


def _is_confirmed(finding: Finding) -> bool:
    return finding.reproduction is not None and finding.reproduction.confirmed


def _example(members: Sequence[tuple[str, Finding]]) -> str:
    reproductions = [
        (name, finding.reproduction)
        for name, finding in members
        if finding.reproduction is not None
    ]
    if not reproductions:
        return members[0][0]
    name, least = min(reproductions, key=lambda pair: len(pair[1].constraint) + len(pair[1].text))
    if len(least.constraint) + len(least.text) > _MAX_SCHEMA:
        return name
    return f"{name}: {_code(least.constraint)} and the text {_code(least.text)}"


def _code(text: str) -> str:
    """A text as code in a cell of a table."""
    fence = "``" if "`" in text else "`"
    return f"{fence}{_display_text(text)}{fence}".replace("|", "\\|")


def _display_text(text: str) -> str:
    """A text with signs for characters that are not printable, unlike those of JSON's escapes."""
    return "".join(c if c.isprintable() else _sign(c) for c in text)


def _sign(character: str) -> str:
    code = ord(character)
    if code < 0x20 or code == 0x7F:
        return "␡" if code == 0x7F else chr(0x2400 + code)
    return f"<U+{code:04X}>"


def _claims(audits: Sequence[Audit]) -> str:
    """The names of all constraints with a claim; one command reproduces each."""
    lines = [
        "`workbench audit FILE --only NAME --engines ENGINE` repeats one, where FILE has its "
        "schema, with its shortened schema and its program."
    ]
    for engine, engine_audits in by_engine(audits).items():
        for kind in (Kind.OVER, Kind.UNDER):
            names = [audit.name for audit in engine_audits if audit.found(kind) is not None]
            if names:
                lines.append(f"**{engine}, {kind}** ({len(names)}): {', '.join(names)}")
    return "\n\n".join(lines)


_DISAGREEMENTS = """\
These are no claims about an engine. Known reasons:

* `jsonschema` reads patterns with Python's `re`. There `\\w` and `\\d` match the letters and digits
  of all scripts, where ECMA-262 has ASCII alone. And `$` also matches before a line break at the
  end of the text (js-1154), where ECMA-262 has the end alone.
* `jsonschema` reads a schema without `$schema` as draft 2020-12, which has no `dependencies`. This
  library applies the keywords of all drafts."""


def _ours(audits: Sequence[Audit]) -> str:
    """Texts about which this library and the judge disagree."""
    disagreements = {
        (audit.name, f.text, f.evidence) for audit in audits if (f := audit.found(Kind.OURS))
    }
    if not disagreements:
        return ""
    head = "## Where this library and the judge disagree"
    rows = [
        ("constraint", "the judge"),
        *sorted((name, evidence) for name, _, evidence in disagreements),
    ]
    return f"{head}\n\n{_DISAGREEMENTS}\n\n{format_table(rows, 'markdown')}"
