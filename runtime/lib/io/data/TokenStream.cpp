//===- TokenStream.cpp - Token files joined to one stream -----------------===//

#include "io/data/TokenStream.h"

#include <algorithm>

using namespace honert;

Status honert::tooManyTokens(const std::string &path) {
  return Status::error(path + ": holds, with the files before it, more than "
                              "2^61 tokens, expected fewer");
}

Status TokenStream::open(const std::vector<std::string> &paths) {
  files.clear();
  ends.clear();
  for (const std::string &path : paths) {
    TokenFile file;
    HONERT_TRY(file.open(path));
    if (file.size() > mostTokens - size())
      return tooManyTokens(path);
    ends.push_back(size() + file.size());
    files.push_back(std::move(file));
  }
  return Status();
}

size_t TokenStream::fileAt(int64_t position) const {
  return static_cast<size_t>(
      std::upper_bound(ends.begin(), ends.end(), position) - ends.begin());
}

template <typename Piece>
Status TokenStream::forEachPiece(int64_t begin, int64_t end,
                                 Piece piece) const {
  for (size_t file = fileAt(begin); begin < end; ++file) {
    int64_t last = std::min(end, ends[file]);
    HONERT_TRY(piece(files[file], begin - beginOf(file), last - begin));
    begin = last;
  }
  return Status();
}

void TokenStream::read(int64_t begin, int64_t n, int64_t *ids) const {
  auto readPiece = [&](const TokenFile &file, int64_t from, int64_t count) {
    file.read(from, count, ids);
    ids += count;
    return Status();
  };
  (void)forEachPiece(begin, begin + n, readPiece);
}

void TokenStream::release(int64_t begin, int64_t n) const {
  auto releasePiece = [](const TokenFile &file, int64_t from, int64_t count) {
    file.release(from, count);
    return Status();
  };
  (void)forEachPiece(begin, begin + n, releasePiece);
}

Status TokenStream::checkIds(const IdBounds &ids, const ThreadPool &pool,
                             int64_t part, int64_t parts,
                             const ReadProgress &progress) const {
  // As size() * part / parts, which could overflow.
  auto cut = [&](int64_t i) {
    return size() / parts * i + size() % parts * i / parts;
  };
  int64_t begin = cut(part), end = cut(part + 1), done = 0;
  return forEachPiece(
      begin, end, [&](const TokenFile &file, int64_t from, int64_t count) {
        ReadProgress ofPiece;
        if (progress)
          ofPiece = [&](double fraction) {
            progress((static_cast<double>(done) +
                      fraction * static_cast<double>(count)) /
                     static_cast<double>(end - begin));
          };
        HONERT_TRY(file.checkIds(ids, pool, from, count, ofPiece));
        done += count;
        return Status();
      });
}

Status TokenStream::refuseId(const IdBounds &ids, int64_t position,
                             int64_t id) const {
  size_t file = fileAt(position);
  return files[file].refuseId(ids, position - beginOf(file), id);
}
