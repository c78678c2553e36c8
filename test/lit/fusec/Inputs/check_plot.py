# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_plot.py PLOT POINTS TEXT...: the plot is XML, its points lie within it,
and there is text that begins with each of the texts."""

import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
file, points, *texts = sys.argv[1:]
root = tree.parse(file).getroot()
assert root.tag == SVG + "svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
found = [circle for circle in root.iter(SVG + "circle") if circle.find(SVG + "title") is not None]
assert len(found) == int(points), len(found)
for circle in root.iter(SVG + "circle"):
    assert 0 < float(circle.get("cx")) < width and 0 < float(circle.get("cy")) < height
written = [node.text for node in root.iter() if node.text]
for text in texts:
    assert any(one.startswith(text) for one in written), (text, written)
