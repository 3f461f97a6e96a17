// The CPU issues a step's work ahead of the GPU: what it frees may still be in use on other streams.
//
// FSDP1 marks a flat parameter as used by the computation when it frees it, and a flat gradient as used by its
// reduction. Nothing but its limit on gathers in flight lets the GPU catch up within a step: before a flat parameter is
// gathered while two were freed that the CPU has not waited for, it waits for the older one. A reduction is taken to be
// done when the next group's backward is. Before an optimizer's step and a new forward the CPU waits for the loss.
// Source: pytorch torch/distributed/fsdp/_runtime_utils.py (_unshard, _reshard, _reduce_grad), _flat_param.py
// (_free_unsharded_flat_param), _limiter_utils.py (_FreeEventQueue).
#pragma once

#include <cstdint>

#include "engine/tape/allocator.h"
#include "engine/tape/rule.h"
#include "engine/tape/tape.h"

namespace trainmem {

class RunAhead {
 public:
  explicit RunAhead(CachingAllocator& allocator) : allocator_(allocator) {}

  void begin(Phase phase);  ///< may wait for all that was issued
  /// May wait for a flat parameter that was freed, so that the storage can have its block.
  void before_allocation(const StorageRecord& storage);
  /// Frees the storage's block, at once or when the stream that still uses it is done.
  void free(CachingAllocator::Handle handle, const StorageRecord& storage);

 private:
  CachingAllocator& allocator_;
  std::int64_t freed_ = 0;       ///< flat parameters so far
  std::int64_t waited_for_ = 0;  ///< of these, those that the CPU has waited for
};

}  // namespace trainmem
