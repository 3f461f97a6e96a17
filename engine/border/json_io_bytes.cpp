#include "engine/border/json_io_bytes.h"

namespace trainmem {

void write_range(const Range& range, JsonWriter& out) {
  out.open_object();
  out.key("low").integer(range.low);
  out.key("expected").integer(range.expected);
  out.key("high").integer(range.high);
  out.close_object();
}

void write_components(const ComponentBytes& components, JsonWriter& out) {
  out.open_object();
  for (int i = 0; i < component_count; ++i) {
    out.key(name(static_cast<Component>(i))).integer(components[static_cast<std::size_t>(i)]);
  }
  out.close_object();
}

}  // namespace trainmem
