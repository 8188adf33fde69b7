"""Pages of HTML as tests look at them."""

from html.parser import HTMLParser
from types import SimpleNamespace


class Page(HTMLParser):
    """Elements of a page, with attributes and text; the nesting is checked on the way."""

    def __init__(self, html):
        super().__init__()
        self.found, self.open, self.text = [], [], ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs)
        self.found.append(SimpleNamespace(tag=tag, text="", get=dict(attrs).get))
        if tag not in {"meta", "link", "img", "source", "br"}:
            self.open.append(self.found[-1])

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        self.text += data
        for element in self.open:
            element.text += data

    def all(self, *tags):
        return [element for element in self.found if element.tag in tags]

    def one(self, tag, **attributes):
        wanted = attributes.items()
        (element,) = (e for e in self.all(tag) if all(e.get(name) == v for name, v in wanted))
        return element
