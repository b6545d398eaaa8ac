//===- Offload.h - what rests in the memory of the host ----------------------===//
// Needs    Stored.
// Gives    Stored. Slots of weights and optimizer states that a rule of the plan offloads rest on the host. Per body:
//          one load of its weights before its forward, and one before its backward if that reads them; one load and one
//          store of its states around its step; the new weights go with that store. What a forward makes or is given
//          and its backward reads is stored behind the forward and loaded before the backward. Rules with different
//          options, and only these, have transfers of their own.
// Keeps    what is computed. Backward ops read what is loaded, and never a forward value that is stored.
// Refuses  nothing.
// Cost     O(ops x rules) per distinct body.
// Tests    test/Memory/offload*, unittests/Numerics/OffloadTest
//===----------------------------------------------------------------------===//
#ifndef STG_MEMORY_OFFLOAD_H
#define STG_MEMORY_OFFLOAD_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"

namespace stg {

void offload(Program &program, PassStats &stats);

} // namespace stg

#endif
