//===- Mixture.h - Which source a window comes from -------------*- C++ -*-===//

#ifndef HONERT_IO_DATA_MIXTURE_H
#define HONERT_IO_DATA_MIXTURE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace honert {

/// Windows of several sources in fixed shares. The windows of a run go round a
/// table of `slots` slots, each of which belongs to a source: which window of
/// which source is number w follows from w alone, so a run can go on anywhere.
class Mixture {
public:
  static constexpr int64_t slots = 4096;

  /// Slots by `weights` > 0, rounded by largest remainders, the earlier first
  /// where these are equal. At least one for each weight that hasOwnSlot().
  static std::vector<int64_t> round(const std::vector<double> &weights);
  static bool hasOwnSlot(double weight, double sumOfWeights) {
    return weight / sumOfWeights * static_cast<double>(slots) >= 1;
  }

  Mixture() = default;
  /// Of `counts` slots for each source, `slots` in all. Among the first n
  /// windows, for every n, the number of each source is less than one away from
  /// n * count / slots.
  explicit Mixture(std::vector<int64_t> counts);

  struct Place {
    size_t source;
    int64_t window; ///< number among those of the source
  };
  Place at(int64_t window) const;
  int64_t slotsOf(size_t source) const { return counts[source]; }

private:
  struct Slot {
    uint16_t source;
    uint16_t before; ///< earlier slots of that source
  };
  std::vector<int64_t> counts;
  std::vector<Slot> table;
};

} // namespace honert

#endif // HONERT_IO_DATA_MIXTURE_H
