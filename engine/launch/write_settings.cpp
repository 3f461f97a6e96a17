// The writers: settings in their order, those of one section together.
#include <algorithm>

#include "engine/config/text.h"
#include "engine/launch/settings.h"

namespace trainmem {
namespace {

/// A number, a word of the syntax, a list, or a text whose quotes are given because it would pass for a number.
bool is_bare(const std::string& value) {
  return value == "true" || value == "false" || is_number_text(value, false) ||
         (!value.empty() && (value.front() == '[' || value.front() == '"'));
}

std::string quoted_unless_bare(const std::string& value) { return is_bare(value) ? value : '"' + value + '"'; }

/// "a.b." of "a.b.c"; empty for a key of the top level.
std::string section_of(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

/// Keys below `prefix` as the members of one JSON object; `i` goes on behind them.
std::string json_object(const Settings& settings, std::size_t& i, const std::string& prefix) {
  const auto depth = static_cast<std::size_t>(1 + std::count(prefix.begin(), prefix.end(), '.'));
  const std::string indent(2 * depth, ' ');
  std::string out;
  while (i < settings.size() && settings[i].key.compare(0, prefix.size(), prefix) == 0) {
    const std::string rest = settings[i].key.substr(prefix.size());
    const std::string name = rest.substr(0, rest.find('.'));
    out += (out.empty() ? "" : ",") + ("\n" + indent) + '"' + name + "\": ";
    if (name.size() < rest.size()) {
      out += json_object(settings, i, prefix + name + ".");
    } else {
      out += quoted_unless_bare(settings[i].value);
      ++i;
    }
  }
  return "{" + out + "\n" + indent.substr(2) + "}";
}

}  // namespace

std::string write_json_settings(const Settings& settings) {
  std::size_t i = 0;
  return json_object(settings, i, "") + "\n";
}

std::string write_toml(const Settings& settings) {
  std::string out;
  std::string open;
  for (const Setting& setting : settings) {
    const std::string section = section_of(setting.key);
    if (section != open) out += (out.empty() ? "[" : "\n[") + section + "]\n";
    open = section;
    out += last_part(setting.key) + " = " + quoted_unless_bare(setting.value) + "\n";
  }
  return out;
}

std::string write_yaml(const Settings& settings) {
  std::string out;
  std::string open;
  for (const Setting& setting : settings) {
    const std::string section = section_of(setting.key);
    if (section != open && !section.empty()) out += section + ":\n";
    open = section;
    const bool word_of_yaml = lower_case(setting.value) == "no";  // false
    out += (section.empty() ? "" : "  ") + last_part(setting.key) + ": " +
           (word_of_yaml ? "'" + setting.value + "'" : setting.value) + "\n";
  }
  return out;
}

std::string write_arguments(const Settings& settings) {
  std::string out;
  for (const Setting& setting : settings) {
    if (!out.empty()) out += " \\\n  ";
    out += setting.key;
    if (!setting.value.empty()) out += " " + setting.value;
  }
  return out + "\n";
}

}  // namespace trainmem
