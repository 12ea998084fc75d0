//===- Chart.h - Axes of a picture in SVG ---------------------*- C++ -*-===//

#ifndef HONE_REPORT_CHART_H
#define HONE_REPORT_CHART_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace honec {

/// A number on an axis and what is written there.
struct Tick {
  double value;
  std::string label;
};

/// A linear axis: `low` lies at pixel `from`, `high` at pixel `to`.
struct Axis {
  double low, high;
  double from, to;

  double at(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
  /// Up to about `wanted` round numbers.
  llvm::SmallVector<Tick> numbers(unsigned wanted) const;
  /// The same for bytes: round in the unit that suits `high`, "200 MiB".
  llvm::SmallVector<Tick> bytes(unsigned wanted) const;
};

/// What times are shown in.
struct TimeUnit {
  double perSecond;
  llvm::StringLiteral name;
};

/// The unit that suits `seconds`: from microseconds to seconds.
TimeUnit timeUnitFor(double seconds);

/// A pixel position, to a tenth.
std::string pixel(double position);

/// The frame, grid lines and labels of a plot; `xLabel` and `yLabel` name the
/// quantities.
void drawAxes(llvm::raw_ostream &out, const Axis &x, const Axis &y,
              llvm::ArrayRef<Tick> xTicks, llvm::ArrayRef<Tick> yTicks,
              llvm::StringRef xLabel, llvm::StringRef yLabel);

/// The rules of style that the classes in drawings refer to. Text and lines
/// have the colour of the page's text, light or dark.
llvm::StringRef chartStyle();

} // namespace honec

#endif // HONE_REPORT_CHART_H
