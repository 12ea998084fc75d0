//===- LauncherEnvironment.h - How this process was started ---------------===//

#ifndef HONERT_COMM_GROUP_LAUNCHERENVIRONMENT_H
#define HONERT_COMM_GROUP_LAUNCHERENVIRONMENT_H

#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace honert {

/// The launcher's environment variables: which of the processes that were
/// started together this one is.
struct LauncherEnvironment {
  /// "mpirun", "torchrun", "PMI" or "srun"; empty: started alone.
  std::string launcher;
  int64_t rank = 0, size = 1;
  int64_t localRank = 0; ///< among the processes of this machine
  int64_t localSize = 1; ///< how many these are; 1 where it is not known
  /// Where rank 0 can be reached (MASTER_ADDR, MASTER_PORT), or empty and 0.
  std::string masterAddress;
  int64_t masterPort = 0;
  /// The launcher's name of this run, equal on its processes, or empty.
  std::string run;
  /// HONE_SECRET and HONE_SECRET_FILE, where they are set (comm/tcp/Secret.h).
  std::optional<std::string> secret, secretFile;
};

/// The value of an environment variable, or null.
using Environment = std::function<const char *(const char *name)>;

/// Reads the variables of the first launcher of these that sets at least the
/// first two of them:
///   mpirun    OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE,
///             OMPI_COMM_WORLD_LOCAL_RANK, OMPI_COMM_WORLD_LOCAL_SIZE
///   torchrun  RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
///   PMI       PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS
///   srun      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID
/// The first three count processes that they start themselves: if two of them
/// give different ranks or sizes, that is an error. srun comes last, because it
/// may have started one mpirun or torchrun per machine. Its step is read, since
/// SLURM_NTASKS of a batch script counts processes that were never started.
Status readLauncherEnvironment(const Environment &environment,
                               LauncherEnvironment &place);

/// The same from the environment of this process.
Status readLauncherEnvironment(LauncherEnvironment &place);

} // namespace honert

#endif // HONERT_COMM_GROUP_LAUNCHERENVIRONMENT_H
