#!/usr/bin/env python3
"""Writes runtime/lib/io/text/Categories.def: the code points that are letters (L) and numbers (N), as Python knows them."""

import unicodedata


def ranges(category: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for code in range(0x110000):
        if unicodedata.category(chr(code))[0] != category:
            continue
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def rows(macro: str, category: str) -> str:
    lines = [""]
    for first, last in ranges(category):
        cell = f"{macro}(0x{first:x}, 0x{last:x})"
        if len(lines[-1]) + len(cell) + 1 > 120:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + cell
    return "\n".join(lines)


print(f"""/*===- Categories.def - Letters and numbers ---------------------------------*- C -*-===*
 *
 * HONERT_LETTERS(first, last), HONERT_NUMBERS(first, last): code points of the general categories L and N of Unicode
 * {unicodedata.unidata_version}, in order. Written by tools/unicode-categories.py.
 *===----------------------------------------------------------------------------------===*/

#ifndef HONERT_LETTERS
#define HONERT_LETTERS(first, last)
#endif
#ifndef HONERT_NUMBERS
#define HONERT_NUMBERS(first, last)
#endif

{rows("HONERT_LETTERS", "L")}

{rows("HONERT_NUMBERS", "N")}

#undef HONERT_LETTERS
#undef HONERT_NUMBERS""")
