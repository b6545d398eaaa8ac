//===- Launcher.h - which of several processes this is ----------------------===//
// mpirun, srun and their like start one program many times and say in its environment
// which copy it is.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/RankChoice.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace stg {

struct LaunchedProcess {
  Shard shard;
  /// The variable that says so.
  std::string variable;
};

/// Nothing for a process that was started alone. `variableOf` is getenv().
///   Open MPI       OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE
///   MPICH, Intel   PMI_RANK, PMI_SIZE
///   srun           SLURM_PROCID, SLURM_STEP_NUM_TASKS (else SLURM_NTASKS); only within a step (SLURM_STEP_ID), because
///                  a batch script has a SLURM_PROCID too
std::optional<LaunchedProcess> launchedProcess(llvm::function_ref<const char *(const char *)> variableOf);

} // namespace stg
