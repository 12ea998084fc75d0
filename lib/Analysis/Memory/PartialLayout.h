//===- PartialLayout.h - Some buffers placed, and what follows --*- C++ -*-===//
//
// The state of the search for a packing (PackingSearch.cpp): where buffers were
// placed, and how low each of the others can still come.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_MEMORY_PARTIALLAYOUT_H
#define HONE_LIB_ANALYSIS_MEMORY_PARTIALLAYOUT_H

#include "Packing.h"

namespace hone::packing {

/// A bottom-justified layout in the making: each buffer stands on the ground or
/// on another. Buffers are placed where nothing can come below them any more.
class PartialLayout {
public:
  explicit PartialLayout(const Component &component);

  /// How far a state goes back.
  struct Mark {
    size_t changes, conclusions, placed;
  };

  /// Takes everything away and starts anew below `capacity`. Like the other
  /// steps, false if there is no layout: then only `undo` may follow.
  bool start(int64_t capacity);
  /// Puts the buffer at its least offset.
  bool place(int32_t index);
  /// Rules the least offset of the buffer out.
  bool postpone(int32_t index);
  Mark mark() const {
    return {changes.size(), conclusions.size(), placedOrder.size()};
  }
  void undo(Mark mark);

  const Component &component;

  const Buffer &buffer(int32_t index) const { return component.buffers[index]; }
  /// The buffers of a section.
  llvm::ArrayRef<int32_t> liveIn(int32_t section) const {
    return llvm::ArrayRef(members).slice(
        memberBegin[section], memberBegin[section + 1] - memberBegin[section]);
  }
  /// The buffers that are live while this one is.
  llvm::ArrayRef<int32_t> neighboursOf(int32_t index) const {
    return llvm::ArrayRef(neighbours)
        .slice(neighbourBegin[index],
               neighbourBegin[index + 1] - neighbourBegin[index]);
  }

  bool isPlaced(int32_t index) const { return placed[index]; }
  /// The lowest offset that is still possible; the final one once placed.
  int64_t leastOf(int32_t index) const { return least[index]; }
  /// Whether the least offset is the ground or a placed buffer's end.
  bool standsAtLeast(int32_t index) const { return stands[index]; }

  /// Buffers of the section that are not placed.
  int32_t unplacedIn(int32_t section) const {
    return sections[section].unplaced;
  }
  /// Whether one of them is in the next section too.
  bool crossesEnd(int32_t section) const {
    return sections[section].crossing != 0;
  }
  /// The bytes that may stay empty above what is placed.
  int64_t slackOf(int32_t section) const {
    return latest(sections[section]) - sections[section].floor;
  }
  /// Buffers and sections looked at so far: what a decision costs.
  int64_t visits() const { return numVisits; }
  /// How often the section was what did not fit, over all starts.
  int64_t failuresOf(int32_t section) const { return failures[section]; }

private:
  struct Change {
    int32_t buffer;
    bool stands;
    int64_t least;
  };
  struct Conclusion {
    int32_t section;
    int64_t floor, firstTop;
  };
  /// What follows for a section from the buffers in it that are not placed.
  struct Section {
    int64_t rest = 0;     ///< their bytes
    int64_t floor = 0;    ///< the least offset of any
    int64_t firstTop = 0; ///< the least end of those that may be the lowest
    int32_t unplaced = 0;
    int32_t crossing = 0; ///< of those, how many are in the next section too
    bool dirty = false;
  };

  /// Where the lowest buffer still to come in a section may lie at most.
  int64_t latest(const Section &section) const {
    return capacity - section.rest;
  }

  void findNeighbours();
  void findTwins();
  bool raise(int32_t index, int64_t offset, bool onTop);
  bool propagate(bool fits);
  bool refresh(int32_t number);
  void touch(int32_t section);

  // Buffers of a section, and neighbours of a buffer, one after the other.
  std::vector<int32_t> members, memberBegin, neighbours, neighbourBegin;
  /// The next buffer of the same size and lifetime, which lies above; or -1.
  std::vector<int32_t> twin;
  int64_t capacity = 0;
  std::vector<int64_t> least;
  std::vector<char> stands, placed;
  std::vector<Section> sections;
  std::vector<int32_t> dirty, placedOrder;
  std::vector<Change> changes;
  std::vector<Conclusion> conclusions;
  std::vector<int64_t> failures;
  int64_t numVisits = 0;
};

} // namespace hone::packing

#endif // HONE_LIB_ANALYSIS_MEMORY_PARTIALLAYOUT_H
