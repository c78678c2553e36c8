// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/fusec/SweepPlot.h"
#include "runtime/format/Printable.h"
#include "tools/fusec/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <fmt/core.h>

using namespace fusec;

namespace {
constexpr double panel = 360, left = 76, gap = 96, top = 88, height = 280;
constexpr unsigned colours = 6, line = 18;

// Follows the viewer's colour scheme, where that supports it.
const char *style = R"(
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-size: 15px; font-weight: 600 } .dim { fill: #656d76 }
  .grid { stroke: #d0d7de } .paper { fill: #ffffff }
  .band { fill: currentColor; fill-opacity: 0.18 }
  .curve { fill: none; stroke: currentColor; stroke-width: 1.8 }
  .point { fill: currentColor }
  .c0 { color: #3b6fb6 } .c1 { color: #1a7f5a } .c2 { color: #b35900 }
  .c3 { color: #8250df } .c4 { color: #c0262d } .c5 { color: #57606a }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .dim { fill: #9198a1 } .grid { stroke: #30363d }
    .paper { fill: #0d1117 }
    .c0 { color: #6ea8fe } .c1 { color: #3fb27f } .c2 { color: #e08e3c }
    .c3 { color: #b392f0 } .c4 { color: #ff6b6b } .c5 { color: #9198a1 }
  })";

/// Logarithmic, from `start` to `end` in the picture.
class Axis {
public:
  Axis(double start, double end, double least, double most)
      : start(start), end(end), low(least / 1.2), high(most * 1.2) {}

  double at(double value) const {
    return start + (end - start) * std::log(value / low) / std::log(high / low);
  }
  /// Widened where it is narrow, so that it has two ticks or more.
  Axis withTicks() const {
    Axis wide = *this;
    double narrow = std::max(1.0, std::sqrt(6.3 / (high / low)));
    wide.low /= narrow;
    wide.high *= narrow;
    return wide;
  }
  /// 1, 2 and 5 of each power of 10, or powers alone where those are many.
  std::vector<double> getTicks() const {
    std::vector<double> ticks;
    bool hasMany = high / low > 1e4;
    for (int power = int(std::floor(std::log10(low)));
         std::pow(10, power) <= high; ++power)
      for (double factor : {1, 2, 5})
        if ((factor == 1 || !hasMany) && factor * std::pow(10, power) >= low &&
            factor * std::pow(10, power) <= high)
          ticks.push_back(factor * std::pow(10, power));
    return ticks;
  }

private:
  double start, end, low, high;
};

struct Point {
  double size, low, middle, high; // microseconds
};
struct Curve {
  std::string label;
  std::vector<Point> points;
};

class Plot {
public:
  Plot(llvm::raw_ostream &os, const Sweep &sweep) : os(os), sweep(sweep) {
    for (const BenchResult &result : sweep.results)
      addPoint(result);
    for (Curve &curve : curves)
      llvm::sort(curve.points,
                 [](auto &a, auto &b) { return a.size < b.size; });
  }
  void write(llvm::StringRef title) const;

private:
  void addPoint(const BenchResult &result);
  void writePanel(double x, llvm::StringRef title, bool isPerRow) const;
  void writeCurve(const Curve &curve, const Axis &across, const Axis &up,
                  unsigned colour) const;
  void writeText(double x, double y, llvm::StringRef text, const char *kind,
                 const char *anchor = "start") const {
    os << fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">", x,
        y, kind, anchor);
    llvm::printHTMLEscaped(text, os);
    os << "</text>\n";
  }
  void writeLine(double x1, double y1, double x2, double y2) const {
    os << fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" "
                      "y2=\"{:.1f}\" class=\"grid\"/>\n",
                      x1, y1, x2, y2);
  }

  llvm::raw_ostream &os;
  const Sweep &sweep;
  std::vector<Curve> curves;
};
} // namespace

static std::string number(double value) {
  int decimals = value < 0.0995 ? 3 : value < 0.995 ? 2 : value < 9.95 ? 1 : 0;
  return fmt::format("{:.{}f}", value, decimals);
}

static std::string printableText(const std::string &text) {
  return jsonText(format::printable(text));
}

void Plot::addPoint(const BenchResult &result) {
  std::string label;
  for (const std::string &name : llvm::ArrayRef(sweep.names).drop_front())
    label += fmt::format("{}{} {}", label.empty() ? "" : ", ",
                         printableText(name), result.sizes.at(name));
  auto curve = llvm::find_if(
      curves, [&](const Curve &one) { return one.label == label; });
  if (curve == curves.end())
    curve = curves.insert(curve, Curve{label, {}});
  auto part = [&](double value) {
    return 1000 * getPercentile(result.times.device, value);
  };
  curve->points.push_back({double(result.sizes.at(sweep.names.front())),
                           part(0.1), part(0.5), part(0.9)});
}

void Plot::writeCurve(const Curve &curve, const Axis &across, const Axis &up,
                      unsigned colour) const {
  os << "<g class=\"c" << colour << "\">\n<polygon class=\"band\" points=\"";
  auto corner = [&](double size, double value) {
    os << fmt::format("{:.1f},{:.1f} ", across.at(size), up.at(value));
  };
  for (const Point &point : curve.points)
    corner(point.size, point.low);
  for (const Point &point : llvm::reverse(curve.points))
    corner(point.size, point.high);
  os << "\"/>\n<polyline class=\"curve\" points=\"";
  for (const Point &point : curve.points)
    corner(point.size, point.middle);
  os << "\"/>\n";
  for (const Point &point : curve.points) {
    os << fmt::format(
        "<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>",
        across.at(point.size), up.at(point.middle));
    llvm::printHTMLEscaped(fmt::format("{} {:.0f}{}{}: {} us (p10 {}, p90 {})",
                                       printableText(sweep.names.front()),
                                       point.size,
                                       curve.label.empty() ? "" : ", ",
                                       curve.label, number(point.middle),
                                       number(point.low), number(point.high)),
                           os);
    os << "</title></circle>\n";
  }
  os << "</g>\n";
}

void Plot::writePanel(double x, llvm::StringRef title, bool isPerRow) const {
  std::vector<Curve> shown = curves;
  double least = HUGE_VAL, most = 0, smallest = HUGE_VAL, largest = 0;
  for (Curve &curve : shown)
    for (Point &point : curve.points) {
      double rows = isPerRow ? point.size : 1;
      // A clock may say 0.
      for (double *value : {&point.low, &point.middle, &point.high})
        *value = std::max(*value, 1e-3) / rows;
      least = std::min(least, point.low);
      most = std::max(most, point.high);
      smallest = std::min(smallest, point.size);
      largest = std::max(largest, point.size);
    }
  Axis across(x, x + panel, smallest, largest),
      up = Axis(top + height, top, least, most).withTicks();
  writeText(x, top - 14, title, "dim");
  for (double tick : up.getTicks()) {
    writeLine(x, up.at(tick), x + panel, up.at(tick));
    writeText(x - 8, up.at(tick) + 4, number(tick), "dim", "end");
  }
  // The sizes that were measured, but for those too near to the one before.
  std::vector<double> sizes;
  for (const Point &point : shown.front().points)
    sizes.push_back(point.size);
  double last = -HUGE_VAL;
  for (double size : sizes) {
    writeLine(across.at(size), top, across.at(size), top + height);
    if (across.at(size) - last < 34)
      continue;
    last = across.at(size);
    writeText(last, top + height + 18, fmt::format("{:.0f}", size), "dim",
              "middle");
  }
  writeText(x + panel / 2, top + height + 38,
            printableText(sweep.names.front()), "", "middle");
  for (size_t i = 0; i != shown.size(); ++i)
    writeCurve(shown[i], across, up, i % colours);
}

void Plot::write(llvm::StringRef title) const {
  bool hasLegend = curves.size() > 1;
  double width = left + 2 * panel + gap + 30,
         bottom =
             top + height + 56 + (hasLegend ? double(line * curves.size()) : 0);
  os << fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "
                    "{0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\">\n"
                    "<style>{2}</style>\n"
                    "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
                    width, bottom, style);
  writeText(16, 26, printableText(title.str()), "title");
  writeText(16, 44, printableText(sweep.results.front().device), "dim");
  writePanel(left, "us a run, median and p10 to p90", /*isPerRow=*/false);
  writePanel(left + panel + gap,
             "us a run / " + printableText(sweep.names.front()),
             /*isPerRow=*/true);
  for (size_t i = 0; hasLegend && i != curves.size(); ++i) {
    double y = top + height + 60 + line * double(i);
    os << fmt::format("<g class=\"c{}\"><circle class=\"point\" cx=\"{:.1f}\" "
                      "cy=\"{:.1f}\" r=\"4\"/></g>\n",
                      i % colours, left, y - 4);
    writeText(left + 12, y, curves[i].label, "");
  }
  os << "</svg>\n";
}

void fusec::writePlot(llvm::raw_ostream &os, const Sweep &sweep,
                      llvm::StringRef title) {
  Plot(os, sweep).write(title);
}
