//===- LauncherEnvironment.h - How this process was started ---------------===//

#ifndef HONERT_COMM_GROUP_LAUNCHERENVIRONMENT_H
#define HONERT_COMM_GROUP_LAUNCHERENVIRONMENT_H

#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace honert {

/// A process's place among those that were started together, as the launcher
/// tells it in the environment.
struct LauncherEnvironment {
  /// "mpirun", "torchrun", "PMI" or "srun"; empty: started alone.
  std::string launcher;
  int64_t rank = 0, size = 1;
  int64_t localRank = 0; ///< among the processes of this machine
  int64_t localSize = 1; ///< how many these are, as far as it is told
  /// Where rank 0 can be reached (MASTER_ADDR, MASTER_PORT), or empty and 0.
  std::string masterAddress;
  int64_t masterPort = 0;
  /// What the launcher calls this run, or nothing: equal on its processes.
  std::string run;
  /// HONE_SECRET and HONE_SECRET_FILE, where they are set (comm/Secret.h).
  std::optional<std::string> secret, secretFile;
};

/// The value of an environment variable, or null.
using Environment = std::function<const char *(const char *name)>;

/// The place that the first launcher of these tells, at least by the first two
/// of its variables:
///   mpirun    OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE,
///             OMPI_COMM_WORLD_LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_SIZE
///   torchrun  RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
///   PMI       PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS
///   srun      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID
/// The first three start what they count themselves: where two of them tell
/// different places, that is an error. srun is asked last and alone, for it may
/// have started one mpirun or torchrun for each machine; its step is counted,
/// for in a batch script SLURM_NTASKS counts what nobody has started.
Status readLauncherEnvironment(const Environment &environment,
                               LauncherEnvironment &place);

/// That of this process's environment.
Status readLauncherEnvironment(LauncherEnvironment &place);

} // namespace honert

#endif // HONERT_COMM_GROUP_LAUNCHERENVIRONMENT_H
