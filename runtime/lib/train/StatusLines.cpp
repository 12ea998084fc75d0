//===- StatusLines.cpp - Lines of a terminal that are drawn over ----------===//

#include "train/StatusLines.h"
#include "train/Process.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace honert;

/// Columns of the terminal: what it says, else what the shell says.
static size_t findWidth() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  const char *columns = std::getenv("COLUMNS");
  long width = columns ? std::strtol(columns, nullptr, 10) : 0;
  return width > 0 ? static_cast<size_t>(width) : 80;
}

static std::string_view variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

StatusLines::StatusLines()
    : terminal(isatty(STDOUT_FILENO) == 1 && variable("TERM") != "dumb"),
      hasStyle(variable("NO_COLOR").empty()) {}

/// A terminal that became narrower has wrapped what is shown.
std::string StatusLines::eraseText(size_t width) const {
  size_t rows = 0;
  for (size_t length : shown)
    rows += std::max<size_t>(1, (length + width - 1) / width);
  std::string text = "\r\033[K";
  for (size_t row = 1; row < rows; ++row)
    text += "\033[A\033[K";
  return text;
}

void StatusLines::draw(const std::vector<std::string> &lines) {
  size_t width = findWidth();
  std::string text = eraseText(width);
  shown.clear();
  for (const std::string &line : lines) {
    // The last column stays free: some terminals wrap as soon as it is full.
    std::string part = line.substr(0, width - 1);
    shown.push_back(part.size());
    if (shown.size() == 1)
      text += part;
    else
      text += "\r\n" + (hasStyle ? "\033[2m" + part + "\033[0m" : part);
  }
  print(text);
}

void StatusLines::clear() {
  if (areShown())
    print(eraseText(findWidth()));
  shown.clear();
}

void StatusLines::keep() {
  if (areShown())
    print("\r\n");
  shown.clear();
}
