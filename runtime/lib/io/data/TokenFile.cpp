//===- TokenFile.cpp - Streams of token ids -------------------------------===//

#include "io/data/TokenFile.h"
#include "io/FileKind.h"
#include "io/data/Npy.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace honert;

namespace {
struct LlmcFormat {
  uint32_t magic;
  uint32_t version;
  int64_t width;
};
constexpr LlmcFormat llmcFormats[] = {{20240520, 1, 2}, {20240801, 7, 4}};
constexpr int64_t llmcHeaderBytes = 256 * 4;
} // namespace

Status TokenFile::open(const std::string &path) {
  MappedFile content;
  HONERT_TRY(content.open(path));
  return open(path, std::move(content));
}

Status TokenFile::open(const std::string &path, MappedFile content) {
  name = path;
  file = std::move(content);
  HONERT_TRY(locate());
  if (count == 0)
    return Status::error(path + ": holds no tokens");
  return Status();
}

Status TokenFile::locate() {
  if (isNpy(file.view())) {
    NpyArray array;
    HONERT_TRY(readNpy(name, file.view(), array));
    if (array.shape.size() != 1)
      return Status::error(
          format("%s: .npy of shape %s, expected one dimension "
                 "of token ids",
                 name.c_str(), toString(array.shape).c_str()));
    switch (array.type) {
    case NpyType::u16:
      width = Width::u16;
      break;
    case NpyType::u32:
      width = Width::u32;
      break;
    case NpyType::i32:
      width = Width::i32;
      break;
    case NpyType::i64:
      width = Width::i64;
      break;
    default:
      return Status::error(format("%s: .npy of %s, expected uint16, uint32, "
                                  "int32 or int64",
                                  name.c_str(), honert::name(array.type)));
    }
    first = file.data() + array.offset;
    count = array.shape[0];
    return Status();
  }
  uint32_t magic = 0;
  if (file.size() >= 4)
    std::memcpy(&magic, file.data(), 4);
  for (const LlmcFormat &format : llmcFormats)
    if (magic == format.magic)
      return locateLlmc(magic);
  if (std::string kind = recogniseFile(file.view()); !kind.empty())
    return mistakenFor(kind);
  if (file.size() % 2 != 0 && looksLikeText(file.view()))
    return mistakenFor("text");
  if (file.size() % 2 != 0)
    return Status::error(format("%s: has %lld bytes, expected an even number "
                                "(uint16 ids)",
                                name.c_str(),
                                static_cast<long long>(file.size())));
  width = Width::u16;
  first = file.data();
  count = file.size() / 2;
  return Status();
}

/// A file without header, all of whose ids may lie in the vocabulary: to train
/// on text or on a compressed file would end in a wrong model.
Status TokenFile::mistakenFor(const std::string &kind) const {
  std::string advice =
      kind == "text" ? "hone tokens " + name + " --bytes -o data makes them"
                     : "headerless uint16, .npy or llm.c's";
  return Status::error(name + ": looks like " + kind +
                       ", expected token ids: " + advice +
                       " (ids that look so: save them as .npy)");
}

Status TokenFile::locateLlmc(uint32_t magic) {
  const LlmcFormat &known = *std::find_if(
      std::begin(llmcFormats), std::end(llmcFormats),
      [&](const LlmcFormat &each) { return each.magic == magic; });
  if (file.size() < llmcHeaderBytes)
    return Status::error(
        format("%s: has %lld bytes, expected a header of %lld (magic %u)",
               name.c_str(), static_cast<long long>(file.size()),
               static_cast<long long>(llmcHeaderBytes), magic));
  uint32_t header[3];
  std::memcpy(header, file.data(), sizeof header);
  if (header[1] != known.version)
    return Status::error(format("%s: version %u of magic %u, expected %u",
                                name.c_str(), header[1], magic, known.version));
  int64_t expected = llmcHeaderBytes + int64_t{header[2]} * known.width;
  if (file.size() != expected)
    return Status::error(
        format("%s: has %lld bytes, expected %lld (its header says %u tokens)",
               name.c_str(), static_cast<long long>(file.size()),
               static_cast<long long>(expected), header[2]));
  width = known.width == 2 ? Width::u16 : Width::u32;
  first = file.data() + llmcHeaderBytes;
  count = header[2];
  return Status();
}

template <typename T>
static void widen(const char *from, int64_t n, int64_t *ids) {
  for (int64_t i = 0; i < n; ++i) {
    T id; // .npy elements may be unaligned
    std::memcpy(&id, from + i * static_cast<int64_t>(sizeof(T)), sizeof id);
    ids[i] = static_cast<int64_t>(id);
  }
}

void TokenFile::read(int64_t begin, int64_t n, int64_t *ids) const {
  switch (width) {
  case Width::u16:
    return widen<uint16_t>(first + begin * 2, n, ids);
  case Width::u32:
    return widen<uint32_t>(first + begin * 4, n, ids);
  case Width::i32:
    return widen<int32_t>(first + begin * 4, n, ids);
  case Width::i64:
    return widen<int64_t>(first + begin * 8, n, ids);
  }
}

int64_t TokenFile::bytesOfId() const {
  return width == Width::u16 ? 2 : width == Width::i64 ? 8 : 4;
}

void TokenFile::release(int64_t begin, int64_t n) const {
  file.release(first + begin * bytesOfId(), n * bytesOfId());
}

Status TokenFile::checkIds(const IdBounds &ids, const ThreadPool &pool,
                           int64_t begin, int64_t n,
                           const ReadProgress &progress) const {
  constexpr int64_t block = 1 << 16;
  int64_t blocks = n / block + (n % block != 0);
  std::vector<char> isBad(static_cast<size_t>(blocks));
  pool.run(blocks, 1, [&](int64_t lo, int64_t hi) {
    std::vector<int64_t> read(static_cast<size_t>(std::min(block, n)));
    for (int64_t b = lo; b < hi; ++b) {
      // The first share is that of the calling thread; the others are as long.
      if (progress && lo == 0 && b % 256 == 0)
        progress(static_cast<double>(b) / static_cast<double>(hi));
      int64_t from = begin + b * block, count = std::min(block, n - b * block);
      this->read(from, count, read.data());
      release(from, count);
      isBad[static_cast<size_t>(b)] =
          ids.findOther(read.data(), count) != count;
    }
  });
  if (progress)
    progress(1);
  auto found = std::find(isBad.begin(), isBad.end(), 1);
  if (found == isBad.end())
    return Status();
  int64_t position = begin + (found - isBad.begin()) * block;
  int64_t id;
  for (read(position, 1, &id); ids.contains(id);)
    read(++position, 1, &id);
  bool hasNoHeader = first == file.data();
  if (hasNoHeader && looksLikeText(file.view()))
    return mistakenFor("text");
  return refuseId(ids, position, id);
}

Status TokenFile::refuseId(const IdBounds &ids, int64_t position,
                           int64_t id) const {
  return Status::error(format("%s: token %lld at position %lld, %s",
                              name.c_str(), static_cast<long long>(id),
                              static_cast<long long>(position),
                              ids.expected(id).c_str()));
}
