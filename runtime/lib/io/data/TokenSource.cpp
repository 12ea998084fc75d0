//===- TokenSource.cpp - Files that --data names --------------------------===//

#include "io/data/TokenSource.h"
#include "base/Files.h"
#include "base/NearestName.h"
#include "io/data/Mixture.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <glob.h>
#include <numeric>
#include <optional>

using namespace honert;

std::string TokenSource::name() const {
  if (files.size() == 1)
    return files.front();
  return format("%s .. %s (%zu files)", files.front().c_str(),
                files.back().c_str(), files.size());
}

namespace {
/// Reads the values of one flag.
class SourceFinder {
public:
  explicit SourceFinder(const std::string &flag) : flag(flag) {}

  /// Takes :WEIGHT off the end of `value`, if it is there.
  Status takeWeight(std::string &value, std::optional<double> &weight) const;
  /// Adds the files of a list. One that is not there is an error of who opens
  /// it.
  Status expandList(const std::string &list,
                    std::vector<std::string> &files) const;
  /// Gives each source its slots.
  Status mix(const std::vector<std::string> &values,
             const std::vector<double> &weights,
             std::vector<TokenSource> &sources) const;
  Status refuse(const std::string &message) const {
    return Status::usage(flag + ": " + message);
  }

private:
  Status expandPattern(const std::string &pattern,
                       std::vector<std::string> &files) const;

  const std::string &flag;
};
} // namespace

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

static bool isPattern(const std::string &text) {
  return text.find_first_of("*?[") != text.npos;
}

/// What is in the nearest folder above `pattern` that exists, for an error.
static std::string describeNearestFolder(const std::string &pattern) {
  constexpr size_t most = 5;
  std::string folder = pattern;
  do
    folder = folderOf(folder);
  while (isPattern(folder) || !isFolder(folder));
  std::vector<std::string> names;
  if (Status status = listFolder(folder, names); !status.ok())
    return status.message();
  std::string text = folder + " holds";
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", " : " ") + names[i];
  if (names.size() > most)
    text += format(" and %zu more", names.size() - most);
  return names.empty() ? text + " nothing" : text;
}

/// Adds the files that `pattern` matches, sorted by name.
Status SourceFinder::expandPattern(const std::string &pattern,
                                   std::vector<std::string> &files) const {
  glob_t found = {};
  int result = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> names(found.gl_pathv,
                                 found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (result != 0 && result != GLOB_NOMATCH)
    return Status::error(pattern + ": its folders cannot be searched");
  if (names.empty())
    return Status::error(format("%s: no file matches '%s'; %s", flag.c_str(),
                                pattern.c_str(),
                                describeNearestFolder(pattern).c_str()));
  std::sort(names.begin(), names.end()); // glob() would ask the locale
  files.insert(files.end(), names.begin(), names.end());
  return Status();
}

Status SourceFinder::expandList(const std::string &list,
                                std::vector<std::string> &files) const {
  bool isFile = isRegularFile(list);
  for (size_t begin = 0, end; begin <= list.size(); begin = end + 1) {
    end = isFile ? list.size() : std::min(list.find(',', begin), list.size());
    std::string part = list.substr(begin, end - begin);
    if (part.empty())
      return refuse("'" + list +
                    "', expected a name before and after "
                    "each comma");
    if (!isPattern(part) || isRegularFile(part))
      files.push_back(part);
    else
      HONERT_TRY(expandPattern(part, files));
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// The number of a text that holds nothing else.
static std::optional<double> numberOf(const std::string &text) {
  char *end;
  double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || std::isspace(static_cast<unsigned char>(text[0])))
    return std::nullopt;
  return number;
}

Status SourceFinder::takeWeight(std::string &value,
                                std::optional<double> &weight) const {
  size_t colon = value.rfind(':');
  if (colon == value.npos || isRegularFile(value))
    return Status();
  std::string before = value.substr(0, colon), text = value.substr(colon + 1);
  weight = numberOf(text);
  if (!weight && !isRegularFile(before) && !isPattern(before))
    return Status(); // part of a name
  if (!weight || !(*weight > 0) || !std::isfinite(*weight))
    return refuse(format("'%s' has the weight '%s', expected a number > "
                         "0 such as %s:0.3",
                         value.c_str(), text.c_str(), before.c_str()));
  value = before;
  return Status();
}

Status SourceFinder::mix(const std::vector<std::string> &values,
                         const std::vector<double> &weights,
                         std::vector<TokenSource> &sources) const {
  double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t i = 0; i != sources.size(); ++i)
    if (!Mixture::hasOwnSlot(weights[i], sum))
      return refuse(
          format("'%s' has a share of %.3g, expected at least 1/%lld of the "
                 "sum of the weights",
                 values[i].c_str(), weights[i] / sum,
                 static_cast<long long>(Mixture::slots)));
  std::vector<int64_t> counts = Mixture::round(weights);
  for (size_t i = 0; i != sources.size(); ++i)
    sources[i].slots = counts[i];
  return Status();
}

Status honert::findSources(const std::string &flag,
                           const std::vector<std::string> &values,
                           bool takesWeights,
                           std::vector<TokenSource> &sources) {
  SourceFinder finder(flag);
  std::vector<double> weights;
  std::string withWeight, without;
  for (const std::string &value : values) {
    std::string list = value;
    std::optional<double> weight;
    HONERT_TRY(finder.takeWeight(list, weight));
    if (weight && !takesWeights)
      return finder.refuse("'" + value +
                           "' has a weight, expected files alone: these "
                           "are read in order, none is mixed");
    (weight ? withWeight : without) = value;
    if (weight)
      weights.push_back(*weight);
    if (weight || sources.empty())
      sources.emplace_back();
    HONERT_TRY(finder.expandList(list, sources.back().files));
  }
  if (!withWeight.empty() && !without.empty())
    return finder.refuse(
        format("'%s' has no weight, '%s' has one; expected a weight for each "
               "or for none",
               without.c_str(), withWeight.c_str()));
  return sources.size() > 1 ? finder.mix(values, weights, sources) : Status();
}
