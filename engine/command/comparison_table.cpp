#include "engine/command/comparison_table.h"

#include "engine/codec/link.h"
#include "engine/command/text.h"

namespace trainmem {
namespace {

std::string signed_gibibytes(Bytes bytes) {
  if (bytes == 0) return "same";
  return (bytes > 0 ? "+" : "-") + gibibytes(bytes > 0 ? bytes : -bytes);
}

std::string line(const std::string& name, Bytes a, Bytes b) {
  return "  " + left(name, 24) + right(gibibytes(a), 14) + right(gibibytes(b), 14) +
         right(signed_gibibytes(b - a), 14) + "\n";
}

}  // namespace

std::string comparison_table(const Answer& a, const Answer& b) {
  std::string out = "Compared with A: " + format_link(a.config) + "\n";
  out += left("", 26) + right("A", 14) + right("B, above", 14) + right("difference", 14) + "\n";
  for (std::size_t i = 0; i < component_count; ++i) {
    const Bytes before = a.result.components[i];
    const Bytes after = b.result.components[i];
    if (before > 0 || after > 0) out += line(name(static_cast<Component>(i)), before, after);
  }
  out += line("allocated", a.result.allocated, b.result.allocated);
  out += line("reserved", a.result.reserved.expected, b.result.reserved.expected);
  out += line("device", a.result.device.expected, b.result.device.expected);
  out += "A: " + a.result.verdict.sentence + "\n";
  out += "B: " + b.result.verdict.sentence + "\n";
  return out;
}

}  // namespace trainmem
