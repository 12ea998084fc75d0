//===- AlgorithmCache.cpp - Which algorithms were the fastest -------------===//

#include "exec/cuda/products/AlgorithmCache.h"
#include "base/Files.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

using namespace honert;

// The first line, then a line for each problem, in columns that tabs separate:
// its key, 8 words of 16 hexadecimal digits, samples, their median in us. Of
// the GPU's clock, drivers tell the highest only, which its name implies; the
// median shows at what rate an algorithm was measured. Version 1 was measured
// on memory of zeros by a GPU that had been idle: it is not read.
static const std::string firstLine = "hone matmul algorithms 2";

static std::optional<cublasLtMatmulAlgo_t>
parseAlgorithm(std::string_view digits) {
  if (digits.size() != 128)
    return std::nullopt;
  cublasLtMatmulAlgo_t algorithm;
  for (size_t i = 0; i != 8; ++i) {
    std::string word(digits.substr(16 * i, 16));
    if (word.find_first_not_of("0123456789abcdef") != std::string::npos)
      return std::nullopt;
    algorithm.data[i] = std::strtoull(word.c_str(), nullptr, 16);
  }
  return algorithm;
}

/// Takes the text up to the next tab off `line`.
static std::string_view takeColumn(std::string_view &line) {
  size_t end = std::min(line.find('\t'), line.size());
  std::string_view column = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return column;
}

/// What follows the key.
static std::optional<TimedAlgorithm> parse(std::string_view line) {
  std::optional<cublasLtMatmulAlgo_t> algorithm =
      parseAlgorithm(takeColumn(line));
  std::string samples(takeColumn(line)), microseconds(line);
  TimedAlgorithm timed;
  timed.samples = std::strtoll(samples.c_str(), nullptr, 10);
  timed.seconds = std::strtod(microseconds.c_str(), nullptr) * 1e-6;
  if (!algorithm || timed.samples < 0 || !(timed.seconds >= 0))
    return std::nullopt;
  timed.algorithm = *algorithm;
  return timed;
}

static std::string columnsOf(const TimedAlgorithm &timed) {
  std::string text;
  for (uint64_t word : timed.algorithm.data)
    text += format("%016" PRIx64, word);
  return text + format("\t%lld\t%.3f", static_cast<long long>(timed.samples),
                       timed.seconds * 1e6);
}

std::string
honert::textOf(const std::map<std::string, TimedAlgorithm> &algorithms) {
  std::string text;
  for (const auto &[key, timed] : algorithms)
    text += key + "\t" + columnsOf(timed) + "\n";
  return text;
}

std::map<std::string, TimedAlgorithm>
honert::parseAlgorithms(std::string_view text) {
  std::map<std::string, TimedAlgorithm> algorithms;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    std::string key(takeColumn(line));
    if (std::optional<TimedAlgorithm> timed = parse(line))
      algorithms.try_emplace(std::move(key), *timed);
    begin = end + 1;
  }
  return algorithms;
}

std::string AlgorithmCache::defaultPath() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache)
    return std::string(cache) + "/hone/matmul-algorithms";
  const char *home = std::getenv("HOME");
  if (home && *home)
    return std::string(home) + "/.cache/hone/matmul-algorithms";
  return "";
}

AlgorithmCache::AlgorithmCache(std::string file) : path(std::move(file)) {
  read();
}

void AlgorithmCache::read() {
  constexpr int64_t mostBytes = 16 << 20;
  MappedFile file;
  if (path.empty() || !isRegularFile(path) || !file.open(path).ok() ||
      file.size() > mostBytes)
    return;
  std::string_view text = file.view();
  if (text.substr(0, firstLine.size() + 1) != firstLine + "\n")
    return;
  for (auto &[key, timed] : parseAlgorithms(text.substr(firstLine.size() + 1)))
    if (timed.samples > 0 && timed.seconds > 0)
      entries.try_emplace(key, timed);
}

std::optional<TimedAlgorithm>
AlgorithmCache::find(const std::string &key) const {
  auto found = entries.find(key);
  if (found == entries.end())
    return std::nullopt;
  return found->second;
}

void AlgorithmCache::add(const std::string &key,
                         const TimedAlgorithm &algorithm) {
  auto [entry, isNew] = entries.try_emplace(key, algorithm);
  hasNews |= isNew || columnsOf(entry->second) != columnsOf(algorithm);
  entry->second = algorithm;
}

void AlgorithmCache::save() {
  if (!hasNews || path.empty())
    return;
  hasNews = false;
  std::string folder = folderOf(path);
  if (!makeFolder(folderOf(folder)).ok() || !makeFolder(folder).ok())
    return;
  read(); // what this run has found stays
  std::string text = firstLine + "\n" + textOf(entries);
  AtomicFile file;
  if (file.create(path).ok() &&
      file.write(text.data(), static_cast<int64_t>(text.size())).ok())
    (void)file.commit().ok();
}
