//===- AlgorithmCache.cpp - Which algorithms were the fastest -------------===//

#include "exec/cuda/products/AlgorithmCache.h"
#include "base/Files.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

using namespace honert;

// The first line, then lines of KEY, a tab, 8 words of 16 hexadecimal digits.
static const std::string firstLine = "hone matmul algorithms 1";

static std::optional<cublasLtMatmulAlgo_t> parse(std::string_view digits) {
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
  for (size_t begin = firstLine.size() + 1; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    size_t tab = line.find('\t');
    if (tab != std::string_view::npos)
      if (auto algorithm = parse(line.substr(tab + 1)))
        entries.try_emplace(std::string(line.substr(0, tab)), *algorithm);
    begin = end + 1;
  }
}

std::optional<cublasLtMatmulAlgo_t>
AlgorithmCache::find(const std::string &key) const {
  auto found = entries.find(key);
  if (found == entries.end())
    return std::nullopt;
  return found->second;
}

void AlgorithmCache::add(const std::string &key,
                         const cublasLtMatmulAlgo_t &algorithm) {
  entries[key] = algorithm;
  hasNews = true;
}

void AlgorithmCache::save() {
  if (!hasNews || path.empty())
    return;
  hasNews = false;
  std::string folder = folderOf(path);
  if (!makeFolder(folderOf(folder)).ok() || !makeFolder(folder).ok())
    return;
  read(); // what this run has found stays
  std::string text = firstLine + "\n";
  for (const auto &[key, algorithm] : entries) {
    text += key + "\t";
    for (uint64_t word : algorithm.data)
      text += format("%016" PRIx64, word);
    text += "\n";
  }
  AtomicFile file;
  if (file.create(path).ok() &&
      file.write(text.data(), static_cast<int64_t>(text.size())).ok())
    (void)file.commit().ok();
}
