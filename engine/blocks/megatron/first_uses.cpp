#include "engine/blocks/megatron/first_uses.h"

#include "engine/tensor/run.h"

namespace trainmem::megatron {

void FirstUses::expect(FirstUse moment, const Shape& shape, DType dtype, const Rule& rule) {
  buffers_.push_back({moment, shape, dtype, &rule, {}});
}

void FirstUses::make(Buffer& buffer) {
  if (buffer.tensor.defined()) return;
  const Place place("buffers", Component::workspace);
  buffer.tensor = allocate(buffer.shape, buffer.dtype, {buffer.rule});
  note_kept(buffer.tensor, *buffer.rule);
}

void FirstUses::make(FirstUse moment) {
  for (Buffer& buffer : buffers_)
    if (buffer.moment == moment) make(buffer);
}

void FirstUses::make_all() {
  for (Buffer& buffer : buffers_) make(buffer);
}

}  // namespace trainmem::megatron
