//===- SharedFiles.cpp - What all ranks see of a file system --------------===//

#include "io/SharedFiles.h"
#include "base/Files.h"

using namespace honert;

/// Names of files are shorter.
static constexpr int64_t longestText = int64_t(1) << 20;

Status honert::broadcastText(ProcessGroup &world, std::string &text) {
  auto bytes = static_cast<int64_t>(text.size());
  HONERT_TRY(world.broadcast(&bytes, sizeof bytes, /*root=*/0));
  if (bytes < 0 || bytes > longestText)
    return Status::error(format(
        "the first rank sends a text of %lld bytes, expected at most %lld",
        static_cast<long long>(bytes), static_cast<long long>(longestText)));
  text.resize(static_cast<size_t>(bytes));
  return world.broadcast(text.data(), bytes, /*root=*/0);
}

Status honert::checkShared(ProcessGroup &world, const std::string &path) {
  if (world.size() == 1)
    return Status();
  AtomicFile probe;
  Status status;
  if (world.isFirst())
    status = probe.create(path);
  HONERT_TRY(world.agree(status));
  std::string name = probe.temporaryName();
  HONERT_TRY(broadcastText(world, name));
  if (!world.isFirst() && !isRegularFile(name))
    status = Status::error(
        format("%s: rank %lld does not see what the first rank writes there, "
               "expected a folder that all ranks share",
               path.c_str(), static_cast<long long>(world.rank())));
  return world.agree(status);
}
