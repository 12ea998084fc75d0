//===- ConsistencyCheck.cpp - Ranks run the same thing --------------------===//

#include "comm/group/ConsistencyCheck.h"
#include "base/Fnv.h"
#include "base/Printable.h"

#include <algorithm>
#include <cstring>

using namespace honert;

/// As much of a value as an error shows.
static constexpr int64_t shownBytes = 120;

/// What a rank has sent, on one line of a terminal.
static std::string shown(const char *value) {
  std::string text(value, strnlen(value, shownBytes));
  return text.empty() ? "(none)" : printable(text);
}

/// What each rank has for a fact in which some differ.
static Status tellDifference(const SharedFact &fact, int64_t differing,
                             ProcessGroup &world) {
  std::vector<char> own(shownBytes), all(shownBytes * world.size());
  std::memcpy(own.data(), fact.value.data(),
              std::min<size_t>(fact.value.size(), shownBytes - 1));
  HONERT_TRY(world.allGather(own.data(), shownBytes, all.data()));
  return Status::error(format(
      "rank %lld has %s %s, rank 0 has %s; expected the same on all ranks",
      static_cast<long long>(differing), fact.name.c_str(),
      shown(all.data() + differing * shownBytes).c_str(),
      shown(all.data()).c_str()));
}

Status honert::checkConsistency(const std::vector<SharedFact> &facts,
                                ProcessGroup &world) {
  // Of another build a rank may know other facts: their number comes first.
  std::string names;
  for (const SharedFact &fact : facts)
    names += (names.empty() ? "" : " ") + fact.name;
  std::vector<SharedFact> known = {{"another build of the runtime:", names}};
  known.insert(known.end(), facts.begin(), facts.end());
  for (size_t first = 0; first != known.size();) {
    size_t count = first == 0 ? 1 : known.size() - 1;
    std::vector<uint64_t> own, all(count * world.size());
    for (size_t i = 0; i != count; ++i)
      own.push_back(fnv1a(known[first + i].value));
    int64_t bytes = static_cast<int64_t>(count * sizeof(uint64_t));
    HONERT_TRY(world.allGather(own.data(), bytes, all.data()));
    for (size_t i = 0; i != count; ++i)
      for (int64_t rank = 1; rank != world.size(); ++rank)
        if (all[rank * count + i] != all[i])
          return world.agree(tellDifference(known[first + i], rank, world));
    first += count;
  }
  return Status();
}
