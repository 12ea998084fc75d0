//===- Connect.cpp - Joins the processes of a run -------------------------===//

#include "train/Connect.h"
#include "comm/host/Mpi.h"
#include "comm/host/SingleProcess.h"
#include "comm/tcp/Rendezvous.h"

using namespace honert;

static std::string ranksText(const Mesh &mesh) {
  int64_t ranks = mesh.ranks();
  return format("%lld rank%s%s", static_cast<long long>(ranks),
                ranks == 1 ? "" : "s",
                mesh.axes.empty() ? "" : (" (" + mesh.text() + ")").c_str());
}

/// How a program is started in as many processes as it has ranks.
static std::string commandFor(const Program &program) {
  auto ranks = static_cast<long long>(program.mesh.ranks());
  if (ranks == 1)
    return "./train ...";
  return program.isForCuda()
             ? format(
                   "torchrun --no-python --nproc-per-node=%lld -- ./train ...",
                   ranks)
             : format("mpirun -np %lld ./train ...", ranks);
}

/// Ranks on GPUs need MPI for nothing but to meet: torchrun says where, srun
/// (which shows as PMI where it speaks that) may or not, and the user may.
static bool meetsWithoutMpi(const Program &program, const Options &options,
                            const LauncherEnvironment &place) {
  if (!program.isForCuda())
    return false;
  return !options.bootstrap.empty() || place.launcher == "torchrun" ||
         ((place.launcher == "srun" || place.launcher == "PMI") &&
          !place.masterAddress.empty());
}

Status honert::connect(const Program &program, const Options &options,
                       const LauncherEnvironment &place,
                       std::unique_ptr<ProcessGroup> &world) {
  int64_t ranks = program.mesh.ranks();
  if (place.size != ranks)
    return Status::error(format("this program is made for %s, started as "
                                "%lld: %s",
                                ranksText(program.mesh).c_str(),
                                static_cast<long long>(place.size),
                                commandFor(program).c_str()));
  if (ranks == 1) {
    world = makeSingleProcess();
    return Status();
  }
  if (place.launcher == "torchrun" && !program.isForCuda())
    return Status::error(
        "started by torchrun, but ranks on CPUs meet by MPI: " +
        commandFor(program));
  if (meetsWithoutMpi(program, options, place))
    return connectSockets(place, options.bootstrap, options.commTimeout, world);
  Status joined = connectMpi(place, options.commTimeout, world);
  if (!joined.ok() && program.isForCuda())
    return Status::error(
        joined.message() +
        "; ranks on GPUs may meet without MPI: by MASTER_ADDR and MASTER_PORT "
        "under torchrun or srun, or by --dist-bootstrap=file:PATH");
  HONERT_TRY(joined);
  world->setTimeout(options.commTimeout);
  return Status();
}
