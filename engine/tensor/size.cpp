#include "engine/tensor/size.h"

namespace trainmem {

SizeTrace*& active_size_trace() {
  static thread_local SizeTrace* trace = nullptr;
  return trace;
}

std::uint32_t SizeTrace::append(SizeOperation operation, std::uint32_t left, std::uint32_t right, std::int64_t value) {
  lines.push_back({operation, left, right, value});
  return static_cast<std::uint32_t>(lines.size());  // one more than the index
}

Size Size::traced(SizeOperation operation, const Size& a, const Size& b, std::int64_t value) {
  SizeTrace& trace = *active_size_trace();
  const auto line_of = [&trace](const Size& size) {
    return size.line_ != 0 ? size.line_ : trace.append(SizeOperation::constant, 0, 0, size.value_);
  };
  const std::uint32_t left = line_of(a);
  const std::uint32_t right = line_of(b);
  return Size(value, trace.append(operation, left, right, value));
}

}  // namespace trainmem
