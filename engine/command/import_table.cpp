#include "engine/command/import_table.h"

#include "engine/codec/link.h"
#include "engine/command/text.h"

namespace trainmem {

std::string import_table(const Import& import) {
  std::string out = "Read as " + import.format + ".\n";
  if (!import.applied.empty()) out += "\nApplied:\n";
  for (const AppliedKey& key : import.applied) {
    out += "  " + left(key.key + (key.value.empty() ? "" : " = " + key.value), 56) + " " + key.path + " = " + key.set +
           "\n";
  }
  if (!import.unused.empty()) out += "\nNot used:\n";
  for (const UnusedKey& key : import.unused) {
    out += "  " + left(key.key + (key.value.empty() ? "" : " = " + key.value), 56) + " " + key.why;
    while (out.back() == ' ') out.pop_back();
    out += "\n";
  }
  return out + "\n" + format_link(import.config) + "\n";
}

}  // namespace trainmem
