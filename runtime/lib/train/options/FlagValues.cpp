//===- FlagValues.cpp - How values of flags are read ----------------------===//

#include "train/options/FlagValues.h"
#include "base/Json.h"
#include "base/NearestName.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

using namespace honert;

static Status wrongValue(const std::string &value,
                         const std::string &expected) {
  return Status::usage("'" + value + "', expected " + expected);
}

/// For a value that is none of `words`.
static Status unknownWord(const std::string &value,
                          const std::vector<std::string> &words) {
  std::string list;
  for (const std::string &word : words)
    list += (list.empty() ? "" : word == words.back() ? " or " : ", ") + word;
  std::string nearest(nearestName(value, {words.begin(), words.end()}));
  return Status::usage(
      "'" + value + "', expected " + list +
      (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
}

Value honert::readInteger(int64_t &target, int64_t low, int64_t high,
                          const char *expected) {
  auto read = [=, &target](const std::string &value) {
    char *end;
    errno = 0;
    long long number = std::strtoll(value.c_str(), &end, 10);
    bool isDigits = !value.empty() &&
                    value.find_first_not_of("0123456789") == std::string::npos;
    if (!isDigits || errno != 0 || *end || number < low || number > high)
      return wrongValue(value, expected);
    target = number;
    return Status();
  };
  auto show = [&] { return target ? std::to_string(target) : ""; };
  return {read, show};
}

Value honert::readNumber(double &target, const char *expected) {
  auto read = [=, &target](const std::string &value) {
    char *end;
    double number = std::strtod(value.c_str(), &end);
    bool startsRight =
        !value.empty() &&
        (std::isdigit(static_cast<unsigned char>(value[0])) || value[0] == '.');
    if (!startsRight || *end || !std::isfinite(number) || number < 0)
      return wrongValue(value, expected);
    target = number;
    return Status();
  };
  return {read, [&] { return jsonNumber(target); }};
}

static std::string showText(const std::string &text) {
  return text.empty() ? "" : quoteJson(text);
}

Value honert::readText(std::string &target) {
  auto read = [&target](const std::string &value) {
    if (value.empty())
      return wrongValue(value, "a name");
    target = value;
    return Status();
  };
  return {read, [&] { return showText(target); }};
}

/// A list as JSON; empty if it is.
static std::string showList(const std::vector<std::string> &texts) {
  std::string list;
  for (const std::string &text : texts)
    list += (list.empty() ? "" : ",") + quoteJson(text);
  return list.empty() ? "" : "[" + list + "]";
}

Value honert::readTexts(std::vector<std::string> &texts) {
  auto read = [&texts](const std::string &value) {
    if (value.empty())
      return wrongValue(value, "a name");
    texts.push_back(value);
    return Status();
  };
  return {read, [&] { return showList(texts); }};
}

Value honert::setFlag(bool &target) {
  auto read = [&target](const std::string &) {
    target = true;
    return Status();
  };
  return {read, [&] { return target ? "true" : ""; }};
}

Value honert::readNamedFile(
    std::vector<std::pair<std::string, std::string>> &files) {
  auto read = [&files](const std::string &value) {
    size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0 ||
        equals + 1 == value.size())
      return wrongValue(value, "NAME=FILE.npy");
    files.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    return Status();
  };
  auto show = [&] {
    std::vector<std::string> texts;
    for (const auto &[name, file] : files)
      texts.push_back(name + "=" + file);
    return showList(texts);
  };
  return {read, show};
}

Value honert::readSchedule(ScheduleKind &target) {
  auto read = [&target](const std::string &value) {
    std::vector<std::string> names = scheduleNames();
    auto found = std::find(names.begin(), names.end(), value);
    if (found == names.end())
      return unknownWord(value, names);
    target = static_cast<ScheduleKind>(found - names.begin());
    return Status();
  };
  return {read, [&] { return quoteJson(name(target)); }};
}

/// A number before one of `units`, which is handed on as its place. False if
/// the text is something else.
static bool readUnit(const std::string &text,
                     const std::vector<std::string> &units, double &number,
                     size_t &unit) {
  size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || text.empty())
    return false;
  std::string rest = digits == text.npos ? "" : text.substr(digits);
  char *end;
  number = std::strtod(text.substr(0, digits).c_str(), &end);
  auto found = std::find(units.begin(), units.end(), rest);
  unit = static_cast<size_t>(found - units.begin());
  return found != units.end() && *end == '\0' && number > 0;
}

/// Steps, or epochs.
Value honert::readSteps(Options &o) {
  auto read = [&o](const std::string &value) {
    size_t unit;
    if (readUnit(value, {"epochs", "epoch"}, o.epochs, unit))
      return Status();
    o.epochs = 0;
    return readInteger(o.steps, 0, mostOfFlag,
                       "a whole number, or epochs such as 2epochs")
        .read(value);
  };
  return {read, [&o] { return std::to_string(o.steps); }};
}

Value honert::readTokens(int64_t &target) {
  auto read = [&target](const std::string &value) {
    static const double factors[] = {1, 1e3, 1e6, 1e9};
    double number;
    size_t unit;
    if (!readUnit(value, {"", "K", "M", "B"}, number, unit) ||
        number * factors[unit] > static_cast<double>(mostOfFlag) ||
        number * factors[unit] < 1)
      return wrongValue(value, "a number such as 5000, 300M or 1.5B");
    target = static_cast<int64_t>(std::llround(number * factors[unit]));
    return Status();
  };
  return {read, [&] { return target ? std::to_string(target) : ""; }};
}

Value honert::readSeed(Options &o) {
  auto read = [&o](const std::string &value) {
    int64_t seed;
    HONERT_TRY(
        readInteger(seed, 0, INT64_MAX, "a whole number < 2^63").read(value));
    o.seed = static_cast<uint64_t>(seed);
    o.seedGiven = true;
    return Status();
  };
  return {read, [&o] { return std::to_string(o.seed); }};
}

Value honert::readIds(std::vector<int64_t> &target) {
  auto read = [&target](const std::string &value) {
    for (size_t begin = 0; begin <= value.size();) {
      size_t end = std::min(value.find(',', begin), value.size());
      HONERT_TRY(readInteger(target.emplace_back(), 0, INT32_MAX,
                             "token ids such as 1,2,3")
                     .read(value.substr(begin, end - begin)));
      begin = end + 1;
    }
    return Status();
  };
  auto show = [&target] {
    std::string list;
    for (int64_t id : target)
      list += (list.empty() ? "" : ",") + std::to_string(id);
    return list.empty() ? "" : "[" + list + "]";
  };
  return {read, show};
}

Value honert::readShare(double &target) {
  auto read = [&target](const std::string &value) {
    HONERT_TRY(readNumber(target, "a share above 0 and up to 1").read(value));
    if (target == 0 || target > 1)
      return wrongValue(value, "a share above 0 and up to 1");
    return Status();
  };
  return {read, [&target] { return target < 1 ? jsonNumber(target) : ""; }};
}

Value honert::readResume(Options &o) {
  auto read = [&o](const std::string &value) {
    o.resume = true;
    o.resumeFrom = value;
    return Status();
  };
  return {read, [&o] {
            return !o.resume              ? ""
                   : o.resumeFrom.empty() ? "true"
                                          : quoteJson(o.resumeFrom);
          }};
}

Value honert::readBootstrap(std::string &target) {
  auto read = [&target](const std::string &value) {
    if (value.rfind("file:", 0) != 0 || value.size() == 5)
      return wrongValue(value, "file:PATH");
    target = value;
    return Status();
  };
  return {read, [&] { return showText(target); }};
}
