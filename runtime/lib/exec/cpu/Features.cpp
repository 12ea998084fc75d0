//===- Features.cpp - Whether this CPU can run the program ----------------===//

#include "exec/cpu/Features.h"

#include <algorithm>
#include <cpuid.h>
#include <sstream>

using namespace honert;

namespace {
struct Feature {
  const char *name;
  unsigned leaf, subleaf, word, bit, state;
};
} // namespace

static constexpr Feature features[] = {
#define HONERT_CPU_FEATURE(name, leaf, subleaf, word, bit, state)              \
  {name, leaf, subleaf, word, bit, state},
#include "honert/cpu_features.def"
#undef HONERT_CPU_FEATURE
};

/// XCR0: which registers the operating system saves; 0 without OSXSAVE.
static unsigned savedState() {
  unsigned words[4] = {};
  constexpr unsigned osxsave = 1u << 27;
  if (!__get_cpuid(1, &words[0], &words[1], &words[2], &words[3]) ||
      !(words[2] & osxsave))
    return 0;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool honert::hasCpuFeature(const std::string &name) {
  const auto *feature =
      std::find_if(std::begin(features), std::end(features),
                   [&](const Feature &each) { return name == each.name; });
  if (feature == std::end(features))
    return false;
  unsigned words[4] = {};
  if (!__get_cpuid_count(feature->leaf, feature->subleaf, &words[0], &words[1],
                         &words[2], &words[3]))
    return false;
  return (words[feature->word] >> feature->bit & 1) &&
         (savedState() & feature->state) == feature->state;
}

/// Those of a list of words that the CPU lacks.
static std::vector<std::string> missingOf(const std::string &list,
                                          const CpuQuery &query) {
  std::vector<std::string> missing;
  std::istringstream words(list);
  for (std::string word; words >> word;)
    if (!query(word))
      missing.push_back(word);
  return missing;
}

/// The highest level of the x86-64 psABI that the CPU has.
static const char *levelOf(const CpuQuery &query) {
  static constexpr const char *levels[][2] = {
      {"x86-64-v2", "sse3 ssse3 sse4.1 sse4.2 popcnt cx16"},
      {"x86-64-v3", "avx avx2 bmi bmi2 f16c fma lzcnt movbe"},
      {"x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"}};
  const char *highest = "x86-64";
  for (const auto &[name, needed] : levels) {
    if (!missingOf(needed, query).empty())
      break;
    highest = name;
  }
  return highest;
}

Status honert::checkCpu(const Program &program, const CpuQuery &query) {
  std::vector<std::string> missing =
      missingOf(program.text("cpu_features"), query);
  if (missing.empty())
    return Status();
  constexpr size_t most = 4;
  std::string names;
  for (size_t i = 0; i != std::min(missing.size(), most); ++i)
    names += (i ? ", " : "") + missing[i];
  if (missing.size() > most)
    names += format(" and %zu more", missing.size() - most);
  return Status::error(format(
      "this program was compiled for %s and needs %s, which this CPU does not "
      "have; compile with --arch=%s",
      program.text("cpu", "another CPU").c_str(), names.c_str(),
      levelOf(query)));
}
