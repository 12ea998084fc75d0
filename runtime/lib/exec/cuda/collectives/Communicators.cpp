//===- Communicators.cpp - The groups of a program's ranks ----------------===//

#include "exec/cuda/collectives/Communicators.h"
#include "comm/group/ConsistencyCheck.h"

#include <algorithm>
#include <cstdlib>

using namespace honert;

Communicators::Communicators(const Program &program, bool deterministic,
                             double timeout, int64_t ranksOfId)
    : program(program), deterministic(deterministic), timeout(timeout),
      ranksOfId(ranksOfId) {
  addListsOf(program.whole());
  for (const Program &stage : program.whole().stages)
    addListsOf(stage);
}

void Communicators::addListsOf(const Program &part) {
  for (const Function &function : part.functions)
    for (const Launch &launch : function.launches)
      if (auto *collective = std::get_if<CollectiveLaunch>(&launch.action))
        if (program.mesh.groupSize(collective->axes) > 1 &&
            number(collective->axes) < 0)
          axes.push_back(collective->axes);
}

int64_t Communicators::number(const Axes &along) const {
  auto found = std::find(axes.begin(), axes.end(), along);
  return found == axes.end() ? -1 : found - axes.begin();
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

/// What the user did not set himself.
static void setDefault(const char *variable, const char *value) {
  (void)setenv(variable, value, /*overwrite=*/0);
}

static Status readRegistration(const NcclFunctions &nccl, bool deterministic,
                               Registration &kind) {
  const char *set = std::getenv("HONE_NCCL_REGISTRATION");
  std::string text = set && *set ? set : "buffer";
  if (text != "none" && text != "buffer" && text != "window")
    return Status::error(format("HONE_NCCL_REGISTRATION: '%s', expected none, "
                                "buffer or window",
                                text.c_str()));
  bool canRegister = nccl.ncclMemAlloc && nccl.ncclMemFree &&
                     nccl.ncclCommRegister && nccl.ncclCommDeregister;
  bool hasWindows =
      nccl.ncclCommWindowRegister && nccl.ncclCommWindowDeregister;
  if (text == "none" || !canRegister)
    kind = Registration::none;
  else
    kind = text == "window" && hasWindows && !deterministic
               ? Registration::window
               : Registration::buffer;
  return Status();
}

static Status readMostCtas(int &count) {
  constexpr long most = 64; // what NCCL allows
  const char *set = std::getenv("HONE_COLLECTIVE_SMS");
  std::string text = set && *set ? set : "0";
  char *end = nullptr;
  long number = std::strtol(text.c_str(), &end, 10);
  if (*end || number < 0 || number > most)
    return Status::error(
        format("HONE_COLLECTIVE_SMS: '%s', expected a number from 0 to %ld",
               text.c_str(), most));
  count = static_cast<int>(number);
  return Status();
}

/// NCCL reads its variables once, when it first needs them.
Status Communicators::open() {
  // Launches on several communicators start in the order of the calls, which
  // is the same on all ranks. Stages call in different orders: there a message
  // that waits for the one before it would hold up all that is called later.
  setDefault("NCCL_LAUNCH_ORDER_IMPLICIT", program.isStage() ? "0" : "1");
  if (deterministic) {
    // Trees and sums in switches depend on sizes and on who comes first.
    setDefault("NCCL_ALGO", "Ring");
    setDefault("NCCL_PROTO", "Simple");
    setDefault("NCCL_NVLS_ENABLE", "0");
    setDefault("NCCL_COLLNET_ENABLE", "0");
  }
  HONERT_TRY(readMostCtas(ctas));
  HONERT_TRY(nccl.open());
  return readRegistration(nccl, deterministic, kind);
}

/// The first rank of each `ranksOfId` makes one.
Status Communicators::makeIds(ProcessGroup &world,
                              std::vector<ncclUniqueId> &ids) {
  int64_t ranks = world.size();
  ids.resize(static_cast<size_t>((ranks + ranksOfId - 1) / ranksOfId));
  Status made;
  for (size_t i = 0; i != ids.size(); ++i)
    if (world.rank() == int64_t(i) * ranksOfId)
      made = nccl.check(nccl.ncclGetUniqueId(&ids[i]),
                        "NCCL finds no network to join ranks by");
  HONERT_TRY(world.agree(made));
  for (size_t i = 0; i != ids.size(); ++i)
    HONERT_TRY(world.broadcast(&ids[i], sizeof ids[i], int64_t(i) * ranksOfId));
  return Status();
}

Status Communicators::split(ProcessGroup &world, const Axes &along) {
  const Mesh &mesh = program.mesh;
  if (mesh.groupSize(along) == mesh.ranks()) {
    std::vector<int64_t> group = mesh.groupOf(0, along);
    if (std::is_sorted(group.begin(), group.end())) { // all, in their order
      members.push_back(all.get());
      return Status();
    }
  }
  parts.push_back(std::make_unique<Communicator>(nccl, timeout, ctas));
  members.push_back(parts.back().get());
  // The first rank of a group names it.
  std::vector<int64_t> group = mesh.groupOf(world.rank(), along);
  return parts.back()->split(*all, group.front(),
                             mesh.numberInGroup(world.rank(), along),
                             mesh.text(along));
}

Status Communicators::addPart(int64_t color, int64_t key,
                              const std::string &name, int blocks,
                              Communicator *&part) {
  auto made = std::make_unique<Communicator>(nccl, timeout, blocks);
  HONERT_TRY(made->split(*all, color, key, name));
  part = nullptr;
  if (color == ncclSplitNoColor)
    return Status();
  part = made.get();
  parts.push_back(std::move(made));
  return Status();
}

/// Whether NCCL is told of the arena for collectives along these axes. Arenas
/// of stages have different sizes, of which NCCL expects one.
bool Communicators::isRegistered(const Axes &along) const {
  Axes stages = program.mesh.stageAxes();
  return !program.isStage() ||
         std::find(along.begin(), along.end(), stages.front()) == along.end();
}

static const char *textOf(Registration kind) {
  return kind == Registration::none     ? "none"
         : kind == Registration::buffer ? "buffer"
                                        : "window";
}

Status Communicators::join(ProcessGroup &world, void *memory, int64_t bytes) {
  const char *graphs = std::getenv("HONE_GRAPHS");
  HONERT_TRY(checkConsistency(
      {{"HONE_NCCL_REGISTRATION (as its NCCL can)", textOf(kind)},
       {"HONE_COLLECTIVE_SMS", std::to_string(ctas)},
       // Ranks of a stage record the same functions.
       {"HONE_GRAPHS", graphs ? graphs : ""}},
      world));
  std::vector<ncclUniqueId> ids;
  HONERT_TRY(makeIds(world, ids));
  all = std::make_unique<Communicator>(nccl, timeout, ctas);
  HONERT_TRY(all->join(ids, world.size(), world.rank(), "all axes"));
  for (const Axes &along : axes)
    HONERT_TRY(split(world, along));
  if (kind == Registration::none || bytes == 0)
    return Status();
  std::vector<Communicator *> registered;
  for (size_t i = 0; i != members.size(); ++i) {
    Communicator *member = members[i];
    if (!isRegistered(axes[i]) ||
        std::count(registered.begin(), registered.end(), member))
      continue;
    registered.push_back(member);
    HONERT_TRY(
        member->registerMemory(memory, bytes, kind == Registration::window));
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Watch and end
//===----------------------------------------------------------------------===//

Status Communicators::poll() {
  if (all)
    HONERT_TRY(all->poll());
  for (const auto &part : parts)
    HONERT_TRY(part->poll());
  return Status();
}

Status Communicators::close() {
  for (const auto &part : parts)
    HONERT_TRY(part->close());
  return all ? all->close() : Status();
}

void Communicators::abort() {
  for (const auto &part : parts)
    part->abort();
  if (all)
    all->abort();
}
