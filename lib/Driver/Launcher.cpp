//===- Launcher.cpp - which of several processes this is --------------------===//
#include "stg/Driver/Launcher.h"

namespace stg {

std::optional<LaunchedProcess> launchedProcess(llvm::function_ref<const char *(const char *)> variableOf) {
  auto launched = [&](const char *rank, const char *size) -> std::optional<LaunchedProcess> {
    const char *index = variableOf(rank), *count = variableOf(size);
    if (!index || !count)
      return std::nullopt;
    std::optional<Shard> shard = readShard(std::string(index) + "/" + count);
    if (!shard || shard->count == 1)
      return std::nullopt;
    return LaunchedProcess{*shard, rank};
  };
  if (auto found = launched("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
    return found;
  if (auto found = launched("PMI_RANK", "PMI_SIZE"))
    return found;
  if (!variableOf("SLURM_STEP_ID"))
    return std::nullopt;
  return launched("SLURM_PROCID", variableOf("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
}

} // namespace stg
