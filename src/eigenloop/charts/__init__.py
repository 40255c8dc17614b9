"""Charts for all pages: static SVG and HTML that need no script, and a small script that shows values on hover.

A page names `eigenloop.charts` in its frame (`pages.frame`), adds `rules(figures)` to its style, and writes
``{{ figure }}`` in its template.

| what | made by |
|---|---|
| lines with bands, dots, references and names at their ends | `draw` -> `Chart`; `Figure` of one or several charts |
| points against points, with a diagonal | `scatter` -> `Chart` |
| counts in a matrix | `matrix` -> `Matrix` |
| sequences side by side, channels from top to bottom | `sequences` -> `Traces` |
| eigenvalues around the unit circle | `panel` -> `Panel`; `Planes` |
| numbers as dots on a line | `compared` -> `Strip` |

Note [Why these are not drawn by a library]
    The same learning curves (four runs, a logarithmic axis, a baseline, a run that diverges) were drawn by Vega-Lite
    (altair 6.3 with vl-convert 1.9), Plotly 7.1, matplotlib 3.11 and this package, and compared in light and dark mode
    at 400 and 1280 pixels. uPlot and Observable Plot draw only in the browser, so that a reader without scripts sees
    nothing; they were not compared.

    | | Vega-Lite | Plotly | matplotlib | here |
    |---|---|---|---|---|
    | without a script | static SVG | nothing | static SVG | static SVG |
    | letters at 400 pixels | 5 pixels high | full size, half the width is legend | 6 pixels high | full size |
    | light and dark | through CSS variables | white in both | by rewriting its SVG | through CSS variables |
    | names at the ends of lines | cover each other | none | none | moved apart |
    | where a run diverged | the line ends | the line ends | the line ends | a cross |
    | size of a chart | 43 KB | 4.9 MB with its script | 47 KB | 15 KB |
    | script for hovering | 900 KB | in the above | none | 6 KB |
    | new dependencies | 34 MB | 10 MB | none | none |

    A static SVG of fixed size is not readable both on a phone and on a large screen, and a library that redoes the
    layout needs its script, which is larger than our pages. Hence Note [Charts that stretch].

Figures that are written as separate files (`eigenloop analyse`) are drawn by matplotlib, see `analysis.style`.
"""

from eigenloop.charts.chart import Chart, draw
from eigenloop.charts.figure import Figure, rules
from eigenloop.charts.heat_map import Matrix, matrix
from eigenloop.charts.lines import Key, Line, Weight
from eigenloop.charts.plane import Panel, Planes, panel
from eigenloop.charts.scatter_plot import Dot, scatter
from eigenloop.charts.strip import Strip, compared
from eigenloop.charts.thinning import thinned
from eigenloop.charts.traces import Trace, Traces, sequences

#: How many colours the style sheet has.
COLOURS = 8

__all__ = [
    "COLOURS",
    "Chart",
    "Dot",
    "Figure",
    "Key",
    "Line",
    "Matrix",
    "Panel",
    "Planes",
    "Strip",
    "Trace",
    "Traces",
    "Weight",
    "compared",
    "draw",
    "matrix",
    "panel",
    "rules",
    "scatter",
    "sequences",
    "thinned",
]
