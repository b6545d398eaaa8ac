//===- MountCommand.h - the command line of stg-mount -----------------------===//
#pragma once

#include "stg/Mount/Mount.h"

namespace stg {

/// Nothing on a wrong command line; says what is wrong.
std::optional<MountOptions> parseMountOptions(int argc, char **argv);

} // namespace stg
