"""Reads our X-macro tables: files of rows like `DIAG(101, Error, Name, "text", ARG(Text, a) ARG(Text, b))`."""
import re

_TOKEN = re.compile(
    r"""//[^\n]*|\#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[(),]|[^\s(),"'/#]+|\s+|.""", re.VERBOSE)


def read_rows(path, macro):
    """The arguments of every `macro(...)` in the file, as lists of strings; string literals come unquoted and adjacent
    ones joined. Each row also has the number of its first line: a list of (line, arguments)."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    rows, depth, line, current, row_line, previous = [], 0, 1, None, 0, ""
    for match in _TOKEN.finditer(text):
        token = match.group(0)
        start_line = line
        line += token.count("\n")
        if token.startswith("//") or (token.startswith("#") and depth == 0):
            continue
        if depth == 0:
            if token == "(" and previous == macro:
                depth, current, row_line = 1, [""], start_line
            if not token.isspace():
                previous = token
            continue
        if token == "(":
            depth += 1
        elif token == ")":
            depth -= 1
            if depth == 0:
                rows.append((row_line, [" ".join(argument.split()) for argument in current]))
                previous = ""
                continue
        elif token == "," and depth == 1:
            current.append("")
            continue
        if token.startswith('"'):
            token = token[1:-1].replace('\\"', '"').replace("\\\\", "\\")
            current[-1] = current[-1].rstrip() + token if current[-1].strip() else token
        else:
            current[-1] += token
    return rows
