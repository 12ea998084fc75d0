//===- PackageWeights.cpp - The weights of a program's package ------------===//

#include "io/checkpoint/PackageWeights.h"
#include "base/Files.h"
#include "base/Fnv.h"
#include "io/SafeTensors.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

using namespace honert;

/// The folder of this executable, or "." where that is unknown.
static std::string folderOfExecutable() {
  std::string path(4096, '\0');
  ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  if (length <= 0 || static_cast<size_t>(length) == path.size())
    return ".";
  path.resize(static_cast<size_t>(length));
  return folderOf(path);
}

/// The other place: beside the executable, in a package of the same name.
static std::string pathBesideExecutable(const std::string &path) {
  return folderOfExecutable() + "/" + baseName(folderOf(path)) + "/" +
         baseName(path);
}

/// "SIZE HASH" of a safetensors file, as `weights_id` in abi.def; of another
/// file only its size.
static Status identify(const std::string &path, std::string &identity) {
  ReadFile file;
  HONERT_TRY(file.open(path));
  identity = std::to_string(file.size());
  uint64_t length = 0;
  if (file.size() < 8)
    return Status();
  HONERT_TRY(file.readAt(0, &length, 8));
  if (length > static_cast<uint64_t>(std::min(file.size() - 8, maxHeaderBytes)))
    return Status();
  std::string header(length, '\0');
  HONERT_TRY(file.readAt(8, header.data(), static_cast<int64_t>(length)));
  identity +=
      format(" %016llx", static_cast<unsigned long long>(fnv1a(header)));
  return Status();
}

Status honert::findPackageWeights(const Program &program, std::string &path) {
  path = program.text("weights");
  if (path.empty())
    return Status();
  if (!fileExists(path)) {
    std::string other = pathBesideExecutable(path);
    if (!fileExists(other))
      return Status::error(path +
                           ": not there, and the program starts from these "
                           "weights; expected the file, --init FILE for "
                           "others, or --fresh for generated ones");
    path = other;
  }
  std::string known = program.text("weights_id"), identity;
  HONERT_TRY(identify(path, identity));
  if (known.empty() || identity == known)
    return Status();
  std::string seen = identity.substr(0, identity.find(' ')),
              expected = known.substr(0, known.find(' '));
  std::string difference =
      seen == expected ? "another header than"
                       : seen + " bytes, expected the " + expected + " of";
  return Status::error(
      format("%s: has %s the file that the program was compiled with; compile "
             "it again, or give --init FILE or --fresh",
             path.c_str(), difference.c_str()));
}
