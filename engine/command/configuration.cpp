#include "engine/command/configuration.h"

#include <algorithm>

#include "engine/codec/comparison.h"
#include "engine/codec/link.h"
#include "engine/codec/request.h"
#include "engine/launch/import.h"

namespace trainmem {
namespace {

/// The link without its end and without the parts of that key.
std::string without(const std::string& link, const std::string& key) {
  std::string out;
  for (std::size_t at = 0; at < link.size();) {
    const std::size_t stop = std::min(link.find('&', at), link.size());
    const std::string part = link.substr(at, stop - at);
    at = stop + 1;
    if (part == "end" || part.substr(0, part.find('=')) == key) continue;
    out += (out.empty() ? "" : "&") + part;
  }
  return out;
}

}  // namespace

Input read_configuration(const Arguments& arguments) {
  Input input = read_input(arguments);
  if (!input.issues.empty() || !is_foreign(input.text)) {
    if (!arguments.parts.empty() && !arguments.words.empty() && input.issues.empty()) {
      input.issues.push_back({"wrong_argument", "", "Give a file or link, or --model and --set, not both.",
                              "trainmem --help shows all arguments."});
    }
    return input;
  }
  const Import import = import_text(input.text);
  if (!import.issues.empty()) return {"", import.issues};
  std::string link = without(format_link(import.config), "end");
  for (const auto& [key, value] : arguments.parts) {
    link = without(link, key) + "&" + percent_encode(key) + "=" + percent_encode(value);
  }
  return {link + "&end", {}};
}

Input read_against(const Arguments& arguments, const Input& input) {
  if (!arguments.against.empty()) {
    Arguments other;
    other.words = {arguments.against};
    return read_configuration(other);
  }
  if (is_json(input.text) || !is_comparison(input.text)) return {};
  const ReadConfig a = parse_comparison(input.text).a;
  return {a.issues.empty() ? format_link(a.config) : "", a.issues};
}

}  // namespace trainmem
