//===- SourceLines.cpp - Lines of the user's files ------------------------===//

#include "SourceLines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace hone::report;
using llvm::StringRef;

static constexpr unsigned around = 2;
/// Bytes of a line: more is no text that people read.
static constexpr size_t longestLine = 200;

/// File and line of FILE:LINE or FILE:LINE:COL.
static std::optional<std::pair<StringRef, unsigned>>
readPlace(StringRef location) {
  unsigned last, line;
  auto [place, end] = location.rsplit(':');
  if (end.getAsInteger(10, last))
    return std::nullopt;
  auto [file, middle] = place.rsplit(':');
  if (!middle.getAsInteger(10, line))
    return std::pair(file, line);
  return std::pair(place, last);
}

static std::unique_ptr<llvm::MemoryBuffer>
openSource(StringRef file, llvm::ArrayRef<std::string> folders) {
  if (llvm::sys::path::is_absolute(file) ||
      llvm::is_contained(llvm::make_range(llvm::sys::path::begin(file),
                                          llvm::sys::path::end(file)),
                         ".."))
    return nullptr;
  for (StringRef folder : folders) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, file);
    if (!llvm::sys::fs::is_regular_file(path))
      continue;
    if (auto opened = llvm::MemoryBuffer::getFile(path, /*IsText=*/true))
      return std::move(*opened);
  }
  return nullptr;
}

SourceLines hone::report::readSourceLines(const Summary &summary,
                                          llvm::ArrayRef<std::string> folders) {
  std::map<std::string, std::set<unsigned>> wanted;
  for (const Launch &launch : summary.launches)
    if (auto place = readPlace(launch.location))
      wanted[place->first.str()].insert(place->second);
  SourceLines found;
  for (const auto &[file, numbers] : wanted) {
    auto source = openSource(file, folders);
    if (!source)
      continue;
    llvm::SmallVector<StringRef> lines;
    source->getBuffer().split(lines, '\n');
    auto &kept = found[file];
    for (unsigned number : numbers)
      for (unsigned near = number > around ? number - around : 1;
           near <= number + around && near <= lines.size(); ++near)
        kept[near] = lines[near - 1].rtrim().take_front(longestLine).str();
  }
  return found;
}
