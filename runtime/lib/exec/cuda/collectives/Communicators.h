//===- Communicators.h - The groups of a program's ranks ------------------===//

#ifndef HONERT_EXEC_CUDA_COLLECTIVES_COMMUNICATORS_H
#define HONERT_EXEC_CUDA_COLLECTIVES_COMMUNICATORS_H

#include "exec/cuda/collectives/Communicator.h"
#include "program/ProcessGroup.h"
#include "program/Program.h"

#include <map>
#include <memory>

namespace honert {

/// How NCCL is told of the arena, so that it sends from there and receives
/// there without copies. All ranks do the same.
enum class Registration { none, buffer, window };

/// NCCL's communicators: one of all ranks, and a part of it for each list of
/// axes that collectives of a program go along. They are made in the order in
/// which the program, or all its stages, name the lists: the same on all ranks.
class Communicators {
public:
  /// With `deterministic`, sums are made in an order that depends on nothing
  /// but the machines. `timeout` in seconds for everything that needs all
  /// ranks; 0: none. One rank that serves all others at the start takes long
  /// where they are many: there is an id, and a rank that serves it, for each
  /// `ranksOfId`.
  Communicators(const Program &program, bool deterministic, double timeout,
                int64_t ranksOfId = 1024);

  /// The lists of axes, in order; those of one rank are not among them.
  const std::vector<Axes> &lists() const { return axes; }
  /// The number of `along` in lists(), or -1: a group of one rank.
  int64_t number(const Axes &along) const;

  /// Opens NCCL. Touches nobody else.
  Status open();
  const NcclFunctions &functions() const { return nccl; }
  /// HONE_NCCL_REGISTRATION: "none", "buffer" (what it is without) or "window".
  /// None where NCCL is too old, buffers where it is to be deterministic.
  Registration registration() const { return kind; }
  /// HONE_COLLECTIVE_SMS: how many blocks, each on a multiprocessor of its own,
  /// a collective has at most; 0, which it is without: as NCCL likes.
  int mostCtas() const { return ctas; }

  /// Joins all ranks of `world`, splits them, and registers memory. Called by
  /// all ranks.
  Status join(ProcessGroup &world, void *memory, int64_t bytes);
  Communicator &at(int64_t number) { return *members[number]; }
  /// After join(), one part more, of the ranks of equal `color` in the order of
  /// `key`; null for a rank of color ncclSplitNoColor. Called by all ranks in
  /// one order. An operation has `mostCtas` blocks at most; 0: as NCCL likes.
  Status addPart(int64_t color, int64_t key, const std::string &name,
                 int mostCtas, Communicator *&part);

  /// An error that came by itself.
  Status poll();
  /// Parts from the others in order, or not.
  Status close();
  void abort();

private:
  void addListsOf(const Program &part);
  Status makeIds(ProcessGroup &world, std::vector<ncclUniqueId> &ids);
  Status split(ProcessGroup &world, const Axes &along);
  bool isRegistered(const Axes &along) const;

  const Program &program;
  const bool deterministic;
  const double timeout;
  const int64_t ranksOfId;
  NcclFunctions nccl;
  Registration kind = Registration::none;
  int ctas = 0;
  std::vector<Axes> axes;
  std::unique_ptr<Communicator> all;
  std::vector<std::unique_ptr<Communicator>>
      parts;                           // but for those that are all
  std::vector<Communicator *> members; // by number in `axes`
};

} // namespace honert

#endif // HONERT_EXEC_CUDA_COLLECTIVES_COMMUNICATORS_H
