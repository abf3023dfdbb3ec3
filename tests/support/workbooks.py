"""Write small Excel workbooks, part by part."""

from __future__ import annotations

import datetime
import io
import zipfile
from xml.sax.saxutils import escape, quoteattr

RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
FIRST_DAY = datetime.date(1899, 12, 30)


def workbook(**sheets):
    """Return the bytes of a workbook; each sheet is a list of rows of cells."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/>'
            '<Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"'
            "/></Types>",
        )
        archive.writestr("_rels/.rels", _relations({"rId1": "xl/workbook.xml"}))
        ids = {f"rId{j}": name for j, name in enumerate(sheets, start=1)}
        listed = "".join(
            f"<sheet name={quoteattr(name)} sheetId={quoteattr(each[3:])} "
            f"r:id={quoteattr(each)}/>"
            for each, name in ids.items()
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook {MAIN} xmlns:r="{RELATION}"><sheets>{listed}</sheets>'
            "</workbook>",
        )
        files = {each: f"worksheets/sheet{each[3:]}.xml" for each in ids}
        files["rId0"] = "styles.xml"
        archive.writestr("xl/_rels/workbook.xml.rels", _relations(files))
        archive.writestr(
            "xl/styles.xml",
            f"<styleSheet {MAIN}><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/>"
            "</cellXfs></styleSheet>",
        )
        for each, name in ids.items():
            archive.writestr(f"xl/{files[each]}", _sheet(sheets[name]))
    return packed.getvalue()


def _relations(targets):
    kinds = {"xl/workbook.xml": "officeDocument", "styles.xml": "styles"}
    listed = "".join(
        f'<Relationship Id="{each}" Target="{target}" '
        f'Type="{RELATION}/{kinds.get(target, "worksheet")}"/>'
        for each, target in targets.items()
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{listed}</Relationships>'


def _sheet(rows):
    body = "".join(
        f'<row r="{r}">{"".join(_cell(r, c, value) for c, value in enumerate(row))}'
        "</row>"
        for r, row in enumerate(rows, start=1)
    )
    return f"<worksheet {MAIN}><sheetData>{body}</sheetData></worksheet>"


def _cell(row, column, value):
    place = f'r="{chr(ord("A") + column)}{row}"'
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c {place} t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c {place} s="1"><v>{(value - FIRST_DAY).days}</v></c>'
    if isinstance(value, (int, float)):
        return f"<c {place}><v>{value}</v></c>"
    if value.startswith("#"):
        return f'<c {place} t="e"><v>{value}</v></c>'
    text = escape(value)
    return f'<c {place} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'
