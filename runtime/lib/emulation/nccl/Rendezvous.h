//===- Rendezvous.h - Where the ranks of the fake NCCL meet ---------------===//

#ifndef HONERT_EMULATION_NCCL_RENDEZVOUS_H
#define HONERT_EMULATION_NCCL_RENDEZVOUS_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace honert::fake {

/// Memory that the ranks of a communicator share, threads of one process or
/// processes of one machine, and how often each has come.
class Rendezvous {
public:
  static constexpr int64_t largest = 64; ///< ranks
  static constexpr int64_t noteBytes = 4096, dataBytes = 1 << 18;

  /// Joins as `rank`; null if that rank is there already.
  static std::shared_ptr<Rendezvous> join(const std::string &name,
                                          int64_t ranks, int64_t rank);
  ~Rendezvous();

  /// The name that it was joined by.
  std::string label() const { return name.substr(1); }
  int64_t ranks() const { return count; }
  int64_t rank() const { return own; }
  /// This rank has come; returns how often.
  int64_t arrive();
  /// The first rank that has come less than `times` times, or -1.
  int64_t missing(int64_t times) const;
  /// What a rank shows the others: a note and data.
  char *note(int64_t rank) const;
  char *data(int64_t rank) const { return note(rank) + noteBytes; }
  /// All have joined: its name may be given to another.
  void forget();

private:
  Rendezvous(std::string name, void *memory, int64_t ranks, int64_t rank)
      : name(std::move(name)), memory(static_cast<char *>(memory)),
        count(ranks), own(rank) {}
  /// How often a rank has come. Zero at first, as new memory is.
  std::atomic<int64_t> &visits(int64_t rank) const {
    return reinterpret_cast<std::atomic<int64_t> *>(memory)[rank];
  }

  std::string name;
  char *const memory;
  const int64_t count, own;
  bool isForgotten = false;
};

} // namespace honert::fake

#endif // HONERT_EMULATION_NCCL_RENDEZVOUS_H
