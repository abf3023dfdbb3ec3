"""Small messy tables, each with its point and the line of the summary that tells it."""

from __future__ import annotations

import datetime
import gzip
from typing import Any, NamedTuple

from support.workbooks import workbook

AGES = [21, 24, 25, 29, 33, 38, 41, 44, 52, 60, 62, 66]
SEX = ["f", "m"] * 6
PAY = [7, 3, 9, 3, 5, 2, 9, 4, 6, 1, 8, 5]
JOBS = ["cook", "clerk", "smith"] * 4


class Messy(NamedTuple):
    """A table: its point, its file, options, and what the summary says.

    ``says`` are parts of lines. If ``fails`` is True, it is the error that says them.
    """

    point: str
    name: str
    content: bytes
    says: tuple[str, ...]
    options: dict[str, Any]
    fails: bool = False


CORPUS: list[Messy] = []


def messy(point, content, *says, name="table.csv", fails=False, **options):
    """Add a table to the corpus; it is about sex unless it says otherwise."""
    data = content if isinstance(content, bytes) else content.encode()
    asked = {"sensitive": "sex", **options}
    CORPUS.append(Messy(point, name, data, says, asked, fails))


def csv(columns, sep=","):
    """Return columns of values as delimited text."""
    rows = zip(*columns.values(), strict=True)
    lines = [list(columns), *rows]
    return "".join(sep.join(map(str, row)) + "\n" for row in lines)


def people(sep=",", n=12, **columns):
    """Return people with an age and a sex, and other columns, as text."""
    return csv({"age": AGES[:n], **columns, "sex": SEX[:n]}, sep)


def grid(**columns):
    """Return people as rows of cells."""
    table = {"age": AGES, **columns, "sex": SEX}
    return [list(table), *map(list, zip(*table.values(), strict=True))]


def repeated(*texts):
    """Return texts, one for each of twelve people, over and over."""
    return [texts[j % len(texts)] for j in range(12)]


# --- Numbers as people write them ----------------------------------------------------

messy(
    "German numbers: points for thousands, decimal commas",
    people(";", pay=repeated("1.234,50", "980,00", "12.000,75", "1.050,20")),
    "pay (number: decimal comma, points for thousands)",
)
messy(
    "Swiss numbers: apostrophes for thousands",
    people(pay=repeated("1'234.50", "980.00", "12'000.75")),
    "pay (number: apostrophes for thousands)",
)
messy(
    "French numbers: narrow blanks for thousands, decimal commas",
    people(";", pay=repeated("1\u202f234,5", "980,1", "12\u202f000,7")),
    "pay (number: decimal comma, spaces for thousands)",
)
messy(
    "American numbers: commas for thousands",
    people(";", pay=repeated("1,234,500", "980", "12,000")),
    "pay (number: commas for thousands)",
)
messy(
    "Decimal commas alone",
    people(";", height=repeated("1,82", "1,7", "1,65")),
    "height (number: decimal comma)",
)
messy(
    "1,234 fits two readings: which one is never guessed",
    people(";", pay=repeated("1,234", "2,500", "3,750")),
    "column 'pay' has numbers such as '1,234', which may mean 1234 or 1.234; say "
    "--decimal 'pay=.' for 1234, or --decimal 'pay=,' for 1.234.",
    fails=True,
)
messy(
    "1,234 with --decimal . is a thousand",
    people(";", pay=repeated("1,234", "2,500", "3,750")),
    "pay (number: commas for thousands)",
    decimal=".",
)
messy(
    "1,234 with --decimal , is little more than one",
    people(";", pay=repeated("1,234", "2,500", "3,750")),
    "pay (number: decimal comma)",
    decimal=",",
)
messy(
    "Decimal commas, but another sign was said",
    people(";", size=repeated("1,5", "1,75", "2,1"), pay=repeated("1,234", "2,500")),
    "column 'size' has numbers such as '1,5', whose decimal sign is ',' and not the "
    "'.' of --decimal; say --decimal 'size=,', too.",
    decimal=".",
    fails=True,
)
messy(
    "1.234 among 950: a point that may separate thousands",
    people(";", pay=repeated("950", "1.234", "2.500")),
    "'pay' has numbers such as '1.234', which may mean 1.234 or 1234; say "
    "--decimal 'pay=.' for 1.234, or --decimal 'pay=,' for 1234.",
    fails=True,
)
messy(
    "1.234 beside a column with decimal commas",
    people(";", pay=repeated("1.234", "2.500"), size=repeated("1,5", "1,75", "2,1")),
    "'pay' has numbers such as '1.234', which may mean 1.234 or 1234",
    fails=True,
)
messy(
    "1.234 in every row: a decimal point, with a remark",
    people(";", pay=repeated("1.234", "2.518", "3.751")),
    "pay (number)",
    "'pay': points are read as decimal points, but would also fit as points for "
    "thousands; if they are that, say --decimal 'pay=,'.",
)
messy(
    "One column of many has decimal commas, by name",
    people(";", pay=repeated("1,234", "2,5"), size=repeated("1.5", "2.25", "3.5")),
    "pay (number: decimal comma), size (number)",
    decimal="pay=,",
)
messy(
    "Euros behind the number",
    people(";", pay=repeated("1.234,50 €", "980,00 €", "12.000,75 €")),
    "pay (number: decimal comma, points for thousands, €)",
)
messy(
    "Dollars before it, some without",
    people(";", pay=repeated("$1,234.50", "$980.00", "700.25")),
    "pay (number: commas for thousands, $)",
)
messy(
    "Two currencies cannot be one number",
    people(pay=[*["$10"] * 5, *["$12"] * 3, *["€10"] * 4]),
    "column 'pay' has mostly numbers, but '€10' in row 9; correct it",
    fails=True,
)
messy(
    "Francs, whose sign has a point",
    people(pay=repeated("Fr. 1'200", "Fr. 980", "Fr. 12'000")),
    "pay (number: apostrophes for thousands, Fr.)",
)
messy(
    "Per cent",
    people(share=repeated("12%", "7.5 %", "0", "30%")),
    "share (number: per cent)",
)
messy(
    "Per cent in some rows, and shares in others",
    people(share=repeated("12%", "7%", "0.5")),
    "column 'share' has mostly numbers, but '0.5' in row 3",
    fails=True,
)
messy(
    "The minus of typesetters",
    people(change=repeated("\u22121.5", "2.5", "\u22120.25")),
    "change (number)",
)
messy(
    "A word among amounts",
    people(";", pay=[*repeated("1.234,50 €", "980,00 €")[:11], "unknown"]),
    "column 'pay' has mostly numbers, but 'unknown' in row 12; correct it, or say --na "
    "'unknown' if it means missing",
    fails=True,
)
messy(
    "Answers of several boxes are no numbers",
    people(";", boxes=repeated("1,2,3", "2,3", "1,3,4", "2")),
    "column 'boxes' has mostly numbers, but '1,2,3' in row 1; correct it, or say",
    fails=True,
)
messy(
    "Leading zeros are codes",
    people(plz=repeated("01067", "04109", "10115", "80331")),
    "plz (category)",
)

# --- Headers, sheets, empty ends -----------------------------------------------------

messy(
    "Titles above the header",
    "Customer survey 2024\nExported on 3 May, by hand\n\n" + people(";", job=JOBS),
    "table.csv: 12 rows, 3 columns (separated by semicolons, utf-8).",
    "2 rows above the header are not part of the table: 'Customer survey 2024' and "
    "'Exported on 3 May, by hand'.",
)
messy(
    "A spreadsheet's title, filled up with delimiters",
    "Members;;\n;;\n" + people(";", job=JOBS),
    "A row above the header is not part of the table: 'Members'.",
)
messy(
    "The header is where --header-row says",
    "a,b,c\n1,2,3\n" + people(job=JOBS),
    "table.csv: 12 rows, 3 columns",
    "2 rows above the header are not part of the table: 'a b c' and '1 2 3'.",
    header_row=3,
)
messy(
    "A header below the end",
    people(job=JOBS),
    "--header-row 99 is below the last row, which is 13.",
    fails=True,
    header_row=99,
)
messy(
    "Two columns of one name are told apart",
    "age,pay,pay,sex\n" + "".join(f"{a},{a % 7},{a % 5},{s}\n" for a, s in
                                  zip(AGES, SEX, strict=True)),
    "Clustered on 3: age (number), pay (1) (number), pay (2) (number).",
    "2 columns are called 'pay'; they are told apart as 'pay (1)' and 'pay (2)'.",
)  # fmt: skip
messy(
    "Empty columns at the end",
    "".join(f"{line};;\n" for line in people(";").splitlines()),
    "12 rows, 2 columns",
    "Dropped from the end of the table: 2 empty columns.",
)
messy(
    "Rows end in a delimiter, the header does not",
    "age,sex\n" + "".join(f"{a},{s},\n" for a, s in zip(AGES, SEX, strict=True)),
    "Dropped from the end of the table: 1 empty column.",
)
messy(
    "Empty rows at the end",
    people(job=JOBS) + ",,\n,,\n",
    "12 rows, 3 columns",
    "Dropped from the end of the table: 2 empty rows.",
)
messy(
    "A column without a name is kept, by its place",
    people().replace("age", "", 1),
    "Clustered on 1: unnamed 1 (number).",
)
messy(
    "The line by which Excel is told the delimiter",
    "sep=;\n" + people(";", job=JOBS),
    "12 rows, 3 columns (separated by semicolons, utf-8).",
    "A row above the header is not part of the table: 'sep='.",
)
messy(
    "A source below the table",
    people(job=JOBS) + "Source: our own survey\n",
    "has 1 value in row 13, not counting the header, but 3 columns; correct that row",
    fails=True,
)
messy(
    "A name of two lines",
    people(job=JOBS).replace("age", '"age\n(years)"', 1),
    "12 rows, 3 columns",
    "age (years) (number), job (category)",
)
messy(
    "Line ends of an old Mac",
    people(job=JOBS).replace("\n", "\r"),
    "Clustered on 2: age (number), job (category).",
)
messy(
    "Numbers as names",
    csv({"2021": PAY, "2022": PAY[::-1], "sex": SEX}),
    "Clustered on 2: 2021 (number), 2022 (number).",
)
messy(
    "A table that is no text",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
    "is not text; give CSV, TSV, Parquet or .xlsx",
    name="table.xls",
    fails=True,
)
messy(
    "A byte order mark, and line ends of Windows",
    b"\xef\xbb\xbf" + people(job=JOBS).replace("\n", "\r\n").encode(),
    "Clustered on 2: age (number), job (category).",
)
messy(
    "UTF-16, as spreadsheets save text",
    people("\t", job=JOBS).encode("utf-16"),
    "(separated by tabs, utf-16)",
)
messy(
    "Latin-1 without a word on it",
    people(town=repeated("Köln", "Jülich")).encode("latin-1"),
    "is not utf-8: line 2 has the byte 0xf6",
    fails=True,
)
messy(
    "Compressed", gzip.compress(people(job=JOBS).encode()), "age (number)",
    name="table.csv.gz",
)  # fmt: skip
messy(
    "A workbook",
    workbook(People=grid(job=JOBS)),
    "table.xlsx: 12 rows, 3 columns (Excel, sheet 'People').",
    name="table.xlsx",
)
messy(
    "A workbook with titles, other sheets and empty rows",
    workbook(
        People=[["Members of 2024"], [None], *grid(job=JOBS), [None], [""]],
        Notes=[["ask Kim"]],
    ),
    "12 rows, 3 columns (Excel, sheet 'People').",
    "Other sheets are not read: 'Notes'; --sheet names one.",
    "A row above the header is not part of the table: 'Members of 2024'.",
    "Dropped from the end of the table: 2 empty rows.",
    name="table.xlsx",
)
messy(
    "The second sheet, by name",
    workbook(Notes=[["ask Kim"]], Data=grid(job=JOBS)),
    "(Excel, sheet 'Data')",
    name="table.xlsx",
    sheet="Data",
)
messy(
    "A sheet that is not there",
    workbook(Data=grid(job=JOBS)),
    "--sheet 'People' is not in the table",
    "whose sheets are 'Data'.",
    name="table.xlsx",
    fails=True,
    sheet="People",
)
messy(
    "Dates and errors of a workbook",
    workbook(
        Data=grid(
            day=[datetime.date(2024, 1, 1 + j) for j in range(12)],
            pay=[10.5, "#DIV/0!", *PAY[2:]],
        )
    ),
    "Left out: day (dates;",
    "Left out: 1 row, row 2 (missing: pay).",
    name="table.xlsx",
    missing="drop",
)
messy(
    "Text that is called a workbook",
    people(job=JOBS),
    "12 rows, 3 columns (separated by commas, utf-8).",
    name="table.xlsx",
)

# --- Spellings -----------------------------------------------------------------------

messy(
    "F and f are listed, and stay apart unless asked",
    people(pay=PAY).replace(",f\n", ",F\n", 2),
    "'sex': 'f' (4) and 'F' (2) differ only in case, blanks or accents, and count as "
    "different groups; --fold 'sex' merges them.",
)
messy(
    "--fold merges them",
    people(pay=PAY).replace(",f\n", ",F\n", 2),
    "'sex': 'f' (4) and 'F' (2) are merged, as --fold asks.",
    fold="sex",
)
messy(
    "Blanks around a value",
    people(pay=PAY).replace(",f\n", ", f\n", 2),
    "'sex': 2 values had blanks around them, which do not count.",
)
messy(
    "Accents and blanks in a category",
    people(town=repeated("Orléans", "Orleans", "New York", "NewYork")),
    "'town': 'New York' (3) and 'NewYork' (3); 'Orleans' (3) and 'Orléans' (3) differ "
    "only in case, blanks or accents, and count as different values",
)

# --- Roles ---------------------------------------------------------------------------

messy(
    "Only the columns that are asked for, in a list with commas",
    people(job=JOBS, pay=PAY, note=JOBS),
    "Clustered on 2: age (number), job (category).",
    "Left out: pay and note (not among --columns).",
    columns="age,job",
)
messy(
    "A column with a comma in its name",
    people(job=JOBS).replace("job", '"job, today"'),
    "Left out: job, today (asked for with --drop).",
    drop="job, today",
)
messy(
    "A column with a comma in its name, in a list",
    people(job=JOBS, pay=PAY).replace("job", '"job, today"'),
    "Left out: job, today (asked for with --drop).",
    "Left out: pay (asked for with --drop).",
    drop='"job, today",pay',
)
messy(
    "Ordered answers",
    people(risk=repeated("low", "high", "mid")),
    "risk (ordered: low < mid < high)",
    ordinal="risk=low,mid,high",
)
messy(
    "An answer that is not among the ordered ones",
    people(risk=repeated("low", "high", "mid", "Mid")),
    "column 'risk' has 'Mid' in row 4, which is not among its ordered levels low, mid, "
    "high; correct it, add it to --ordinal",
    fails=True,
    ordinal="risk=low,mid,high",
)
messy(
    "Ages make groups by bounds",
    people(pay=PAY),
    "'age' makes groups by bounds: below 25, 25 to below 40 and 40 or above.",
    "Left out: age (sensitive; --use-sensitive uses it, too).",
    sensitive="age",
    bins="age=25,40",
)
messy(
    "Weights",
    people(w=repeated("1.5", "2", "0.5")),
    "Rows are weighted by 'w': 12 rows stand for 16.0 people.",
    "Left out: w (the weights).",
    weight="w",
)
messy(
    "A weight below 0",
    people(w=repeated("1", "-2")),
    "--weight names 'w', which holds -2 in row 2; a row stands for 0 people or more.",
    fails=True,
    weight="w",
)
messy(
    "Scales by column",
    people(pay=[10**j for j in range(12)], size=PAY),
    "age (number: scaled robustly), pay (number: scaled by logarithm), size (number: "
    "scaled by its standard deviation)",
    scale=["robust", "pay=log", "size=std"],
)
messy(
    "A logarithm of a debt",
    people(pay=repeated("-5", "10", "20")),
    "column 'pay' holds -5 in row 1, but --scale log takes numbers of 0 and more",
    fails=True,
    scale="pay=log",
)
messy(
    "One outlier flattens a column",
    people(pay=[*range(100, 111), 999999]),
    "'pay': 999999 in row 12 leaves all others within 0.0% of the range, so that the "
    "column hardly counts; correct it, or say --scale pay=log.",
)
messy(
    "Postcodes are used as numbers",
    people(zip_code=[10115 + 997 * j for j in range(12)]),
    "'zip_code' is used as a number, but by its name it holds codes",
)
messy(
    "Names are nearly identifiers",
    people(street=[f"street {j % 9}" for j in range(12)]),
    "'street' has 9 different texts in 12 rows: it is nearly an identifier",
)

# --- Missing values ------------------------------------------------------------------

messy(
    "Missing values are counted by group",
    people(pay=["", *PAY[1:11], ""]),
    "Left out: 2 rows, the first is row 1 (missing: pay).",
    "Left out by group: f 1 of 6 (16.7%); m 1 of 6 (16.7%).",
    missing="drop",
)
messy(
    "Missing values of one column are a value of their own, of another an error",
    people(pay=["", *PAY[1:]], job=["", *JOBS[1:]]),
    "1 of 12 rows has missing values, in job (1).",
    fails=True,
    missing="pay=category",
)
messy(
    "Each column its own way",
    people(pay=["", *PAY[1:]], job=[*JOBS[1:], ""]),
    "'pay': 1 missing value was replaced by the median",
    "Left out: 1 row, row 12 (missing: job).",
    missing=["drop", "pay=category"],
)
messy(
    "A question mark that means missing",
    people(pay=["?", *PAY[1:]]),
    "Left out: 1 row, row 1 (missing: pay).",
    na="?",
    missing="drop",
)
messy(
    "An option for a column that it does not concern",
    people(job=JOBS),
    "--scale names 'job', which it does not concern (a category); do not name it there",
    fails=True,
    scale="job=log",
)
messy(
    "A scale that does not exist",
    people(job=JOBS),
    "--scale must be one of range, std, robust, log, got 'mean'.",
    fails=True,
    scale="mean",
)
