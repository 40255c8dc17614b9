"""Reading pages back: their tags, texts and blocks of data, with every tag closed in order."""

import html.parser

#: Elements that have no end.
VOID = {"meta", "link", "img", "input", "br", "hr"}


class Reader(html.parser.HTMLParser):
    """Collects tags, attributes, texts and data blocks, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.blocks: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] == "script" and self.tags[-1][1].get("type") == "application/json":
            self.blocks.append(data)
        else:
            self.texts.append(data)


def read(text: str) -> Reader:
    """Read a page to its end, where nothing may be left open."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.stack == []
    return reader
