//===- FileChecksum.cpp - Checksum of a large file ------------------------===//

#include "io/FileChecksum.h"

#include <algorithm>

using namespace honert;

static void addPiece(Checksum &pieces, uint64_t piece) {
  pieces.add(&piece, sizeof piece);
}

void FileChecksum::add(const void *data, int64_t bytes) {
  const auto *next = static_cast<const char *>(data);
  while (bytes > 0) {
    int64_t taken = std::min(bytes, share - bytesOfLatest);
    latest.add(next, taken);
    bytesOfLatest += taken;
    next += taken;
    bytes -= taken;
    if (bytesOfLatest < share)
      continue;
    addPiece(pieces, latest.value());
    latest = Checksum();
    bytesOfLatest = 0;
  }
}

uint64_t FileChecksum::value() const {
  Checksum all = pieces;
  if (bytesOfLatest > 0)
    addPiece(all, latest.value());
  return all.value();
}

/// Reads piece `index` of a file, which passes through memory.
static Status readPiece(const ReadFile &file, int64_t index, uint64_t &value) {
  Checksum checksum;
  std::vector<char> bytes(static_cast<size_t>(pieceBytes));
  int64_t begin = index * FileChecksum::share;
  int64_t end = std::min(begin + FileChecksum::share, file.size());
  for (int64_t at = begin; at < end; at += pieceBytes) {
    int64_t length = std::min(pieceBytes, end - at);
    HONERT_TRY(file.readAt(at, bytes.data(), length));
    checksum.add(bytes.data(), length);
  }
  value = checksum.value();
  return Status();
}

Status honert::checksumOf(const std::string &path, ProcessGroup &world,
                          uint64_t &value) {
  ReadFile file;
  HONERT_TRY(world.agree(file.open(path)));
  int64_t size = file.size();
  HONERT_TRY(world.broadcast(&size, sizeof size, /*root=*/0));
  Status status;
  if (size != file.size())
    status = Status::error(format(
        "%s: has %lld bytes, and %lld for the first rank", path.c_str(),
        static_cast<long long>(file.size()), static_cast<long long>(size)));
  HONERT_TRY(world.agree(status));
  // Rank r reads the pieces r, r + ranks, ...
  int64_t ranks = world.size();
  int64_t count = (size + FileChecksum::share - 1) / FileChecksum::share;
  int64_t each = (count + ranks - 1) / ranks;
  std::vector<uint64_t> own(static_cast<size_t>(each));
  std::vector<uint64_t> all(static_cast<size_t>(each * ranks));
  for (int64_t i = 0, piece = world.rank(); status.ok() && piece < count;
       ++i, piece += ranks)
    status = readPiece(file, piece, own[static_cast<size_t>(i)]);
  HONERT_TRY(world.agree(status));
  HONERT_TRY(world.allGather(
      own.data(), each * static_cast<int64_t>(sizeof own[0]), all.data()));
  Checksum pieces;
  for (int64_t piece = 0; piece != count; ++piece)
    addPiece(pieces,
             all[static_cast<size_t>(piece % ranks * each + piece / ranks)]);
  value = pieces.value();
  return Status();
}
