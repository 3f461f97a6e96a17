// The layout of preset files: the form that engine/presets/embed.cmake reads.
#include "engine/preset_check/validate_presets.h"
#include "engine/text/json_tree.h"
#include "engine/text/json_writer.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

std::string quoted(const std::string& text) { return JsonWriter().text(text).take(); }

void write(const JsonTree& tree, const std::string& indent, std::string& out) {
  switch (tree.kind) {
    case JsonKind::null: out += "null"; return;
    case JsonKind::boolean: out += tree.boolean ? "true" : "false"; return;
    case JsonKind::integer: out += std::to_string(tree.integer); return;
    case JsonKind::number: {
      const std::string digits = number_text(tree.number);
      out += digits;
      if (digits.find_first_of(".e") == std::string::npos) out += ".0";
      return;
    }
    case JsonKind::text: out += quoted(tree.text); return;
    case JsonKind::array:
    case JsonKind::object: break;
  }
  const bool object = tree.kind == JsonKind::object;
  out += object ? '{' : '[';
  const char* separator = "\n";
  for (const JsonTree& child : tree.children) {
    out += separator + indent + "  ";
    if (object) out += quoted(child.key) + ": ";
    write(child, indent + "  ", out);
    separator = ",\n";
  }
  if (!tree.children.empty()) out += "\n" + indent;
  out += object ? '}' : ']';
}

}  // namespace

std::string preset_layout(const std::string& json) {
  const JsonText text = parse_json(json);
  if (!text.issues.empty()) return {};
  std::string out;
  write(text.root, "", out);
  return out + "\n";
}

}  // namespace trainmem
