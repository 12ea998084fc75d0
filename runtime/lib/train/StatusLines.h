//===- StatusLines.h - Lines of a terminal that are drawn over ------------===//

#ifndef HONERT_TRAIN_STATUSLINES_H
#define HONERT_TRAIN_STATUSLINES_H

#include <string>
#include <vector>

namespace honert {

/// The last lines on standard output, which the next ones replace. Each is cut
/// to the width that the terminal has at that moment, so that none takes two
/// rows: the cursor goes back by rows.
class StatusLines {
public:
  StatusLines();

  /// Standard output is a terminal that can move its cursor.
  bool isTerminal() const { return terminal; }
  bool areShown() const { return !shown.empty(); }
  /// Replaces what is shown by `lines` of ASCII. All but the first are dim, if
  /// NO_COLOR is not set.
  void draw(const std::vector<std::string> &lines);
  void clear();
  /// What is shown stays; what is printed next stands below.
  void keep();

private:
  std::string eraseText(size_t width) const;

  bool terminal, hasStyle;
  std::vector<size_t> shown; // lengths of the lines
};

} // namespace honert

#endif // HONERT_TRAIN_STATUSLINES_H
