import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import studies
from tests.helpers.spending import MAX_BYTES, MAX_SECONDS, begin_peak_anew, peak_bytes
from tunbench.journal.bounds import MAX_REFERENCE_BYTES
from tunbench.journal.readers.published import COLUMNS, UNITS, Published, published, read
from tunbench.plan.load import PlanError

HEAD = ",".join(COLUMNS) + "\n"


def rows(folder: Path, *lines: str) -> list[Published]:
    path = folder / "any.csv"
    path.write_text(HEAD + "\n".join(lines) + "\n")
    return published(path)


@pytest.mark.parametrize(
    ("value", "unit", "si", "in_si"),
    [
        ("92.9", "Mbit/s", "bit/s", 92.9e6),
        ("640", "kbit/s", "bit/s", 640e3),
        ("1.2", "Gbit/s", "bit/s", 1.2e9),
        ("3", "MB/s", "bit/s", 24e6),
        ("1", "MiB/s", "bit/s", 8388608),
        ("12.3", "ms", "s", 0.0123),
        ("250", "us", "s", 0.00025),
        ("2", "min", "s", 120),
        ("0.1", "%", "ratio", 0.001),
        ("1", "KiB", "B", 1024),
        ("-3", "count", "count", -3),
    ],
)
def test_values_become_si(value: str, unit: str, si: str, in_si: float, tmp_path: Path) -> None:
    (row,) = rows(tmp_path, f"t,s,c,m,mean,{unit},{value},Table 1")
    assert (row.unit, row.value) == (si, in_si)


@given(st.decimals(-(10**6), 10**6, places=4), st.sampled_from(sorted(UNITS)))
def test_units_only_scale(value: object, unit: str) -> None:
    from tunbench.journal.readers.published import _si

    assert _si(str(value), UNITS[unit]) == pytest.approx(float(str(value)) * UNITS[unit].factor)


def test_what_is_illegible_is_kept_apart(tmp_path: Path) -> None:
    (row,) = rows(tmp_path, 't,s,c,m,mean,ms,,"Appendix 3, p. 60: illegible"')
    assert (row.value, row.source) == (None, "Appendix 3, p. 60: illegible")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t,s,c,m,mean,mbps,1,Table 1", 'any.csv:2: unknown unit "mbps"; did you mean '),
        ('t,s,c,m,mean,ms,"1,5",Table 1', 'any.csv:2: "1,5" is not a number: write a decimal point'),
        *((f"t,s,c,m,mean,ms,{one},Table 1", f'any.csv:2: "{one}" is not a number') for one in ("1e308", "1_0", "١")),
        ("t,s,c,m,mean,ms,inf,Table 1", 'any.csv:2: "inf" is not a number: write a decimal point and no separators'),
        ("t,s,c,m,mean,ms,1,a\x1b[2J", 'any.csv:2: "a\N{REPLACEMENT CHARACTER}[2J" has characters that'),
        ("t,s,c,m,mean,ms,1,", "any.csv:2: the column source is empty"),
        ("t,,c,m,mean,ms,1,Table 1", "any.csv:2: the column system is empty"),
        ("t,s,c,m,mean,ms,1,T\nt,s,c,m,mean,ms,2,T", "any.csv:3: another row has this table, system"),
        ('"t\nt",s,c,m,mean,ms,1,T', 'any.csv:2: "t\\nt" has more than one line: write it in one'),
        ('"t\nt",s,c,m,mean,ms,1,T\nt,s,c,m,mean,mbps,1,T', 'any.csv:4: unknown unit "mbps"'),
        ("t,s,c,m,mean,ms,1,T,U", "any.csv:2: there are 9 fields, and 8 columns: write a text with commas in quotes"),
        ("t,s,c,m,mean,ms,1,T\n\n", "any.csv:3: the column table is empty"),
        ('t,s,c,m,mean,ms,1,T\nt,"s"x,c,m,mean,ms,1,T', "any.csv:3: this is no CSV file that can be read: "),
        ('t,"s,c,m,mean,ms,1,T', "any.csv:2: this is no CSV file that can be read: unexpected end of data"),
    ],
)
def test_mistakes_are_told_with_their_line(line: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        rows(tmp_path, line)
    assert message in str(caught.value)


def test_every_mistake_is_told(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as caught:
        rows(tmp_path, "t,s,c,m,mean,mbps,1,T", "t,s,c,m,mean,ms,x,T")
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", HEAD + "too,few\n1,2,3,4,5,6,7,8,9\n"])
def test_what_is_no_reference_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "any.csv"
    path.write_text(text)
    with pytest.raises(PlanError, match=r"any\.csv"):
        published(path)


HUGE = {
    "rows of nothing": HEAD + "\n" * (MAX_REFERENCE_BYTES - 1000),
    "rows of mistakes": HEAD + "".join(f"t,s{n},c,m,mean,m{n}s,1,T\n" for n in range(100_000)),
    "good rows": HEAD + "".join(f"t,s{n},c,m,mean,ms,1,T\n" for n in range(100_000)),
    "columns": ",".join(f"c{n}" for n in range(100_000)) + "\n",
    "a long field": HEAD + "t" * (MAX_REFERENCE_BYTES - 1000),
    "a quote that does not end": HEAD + '"' + "t,\n" * (MAX_REFERENCE_BYTES // 4),
    "more than any reference has": HEAD + "\n" * MAX_REFERENCE_BYTES,
}
"""References that have more than there is to be published."""


@pytest.mark.parametrize("name", HUGE)
def test_what_is_far_too_large_is_refused_at_once(name: str, tmp_path: Path) -> None:
    (tmp_path / "any.csv").write_text(HUGE[name])
    begin_peak_anew()
    began, before = time.process_time(), peak_bytes()
    with pytest.raises(PlanError) as caught:
        published(tmp_path / "any.csv")
    assert time.process_time() - began < MAX_SECONDS
    assert peak_bytes() - before < MAX_BYTES
    assert len(str(caught.value)) < 25_000
    assert all("any.csv" in line for line in str(caught.value).splitlines())


def test_a_study_finds_its_reference_beside_it(tmp_path: Path) -> None:
    assert len(read(studies.loaded(tmp_path))) == 12


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"tiny.csv"', '"teeny.csv"', 'tiny.toml:16: study.reference: there is no file "teeny.csv" beside the study'),
        (
            'statistic = "mean"',
            "",
            "tiny.toml:33: study.table[1]: the reference has several statistics of it: name one of mean, sd",
        ),
        (
            'table = "delay"',
            'table = "dalay"',
            'study.table[1].table: the reference has no table "dalay"; did you mean "delay"?',
        ),
        ('"WAN" =', '"LTE" =', 'study.table[0].conditions.LTE: the reference has no condition "LTE" of it'),
        ('"PPTP" = "', '"L2TP" = "', 'the published system "PPTP" is neither in the systems nor in [study.missing]'),
        (
            'cell = { metric = "rtt" }\ncond',
            'cell = { metric = "loss" }\ncond',
            "it is published in s, and loss is in ratio",
        ),
    ],
)
def test_a_table_fits_its_published_rows(before: str, after: str, message: str, tmp_path: Path) -> None:
    text = studies.PLAN + studies.STUDY.replace('["WireGuard", "PPTP"]', '["WireGuard"]')
    assert before in text
    with pytest.raises(PlanError) as caught:
        read(studies.loaded(tmp_path, text=text.replace(before, after)))
    assert message in str(caught.value)
