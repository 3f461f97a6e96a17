// The readers: one pass over lines or words each. A line that is no setting is skipped.
#include "engine/config/fields.h"
#include "engine/launch/settings.h"
#include "engine/text/numbers.h"

namespace trainmem {
namespace {

constexpr std::string_view space = " \t\r\n";
constexpr std::size_t most_variables = 200;  // of a shell script; each use looks through them

std::string_view trimmed_of(std::string_view text, std::string_view characters) {
  const std::size_t first = text.find_first_not_of(characters);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(characters) - first + 1);
}

/// Cuts the first line off.
std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() == text.size() ? line.size() : line.size() + 1);
  return line;
}

/// The line up to a # that stands outside quotes and begins a word.
std::string_view without_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return line.substr(0, i);
    }
  }
  return line;
}

std::string_view unquoted(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

/// Variables of a shell script that a run reads itself: PyTorch's of its allocator, in both names.
bool is_environment(std::string_view name) { return name == "PYTORCH_CUDA_ALLOC_CONF" || name == "PYTORCH_ALLOC_CONF"; }

std::string scalar_text(const JsonTree& tree) {
  switch (tree.kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return tree.boolean ? "true" : "false";
    case JsonKind::integer: return std::to_string(tree.integer);
    case JsonKind::number: return number_text(tree.number);
    case JsonKind::text: return tree.text;
    case JsonKind::array:
    case JsonKind::object: break;
  }
  std::string list = "[";
  for (const JsonTree& item : tree.children) list += (list.size() > 1 ? ", " : "") + scalar_text(item);
  return list + "]";
}

void flatten(const JsonTree& object, const std::string& prefix, Settings& out) {
  for (const JsonTree& member : object.children) {
    if (member.kind == JsonKind::object) {
      flatten(member, prefix + member.key + ".", out);
    } else {
      out.push_back({prefix + member.key, scalar_text(member)});
    }
  }
}

/// Words of a command line: quotes join, a backslash at the end of a line continues it, # begins a comment.
std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    std::string_view line = trimmed(without_comment(next_line(text)));
    if (!line.empty() && line.back() == '\\') line.remove_suffix(1);
    std::string word;
    char quote = 0;
    bool any = false;
    for (const char c : line) {
      if (quote != 0 && c == quote) {
        quote = 0;
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
        any = true;
      } else if (quote == 0 && (c == ' ' || c == '\t' || c == '(' || c == ')')) {  // shell arrays: ARGS=( --bf16 )
        if (any || !word.empty()) words.push_back(word);
        word.clear();
        any = false;
      } else {
        word += c;
      }
    }
    if (any || !word.empty()) words.push_back(word);
  }
  return words;
}

/// Options that take all words up to the next option.
bool takes_many(std::string_view key) {
  return key == "--lora-target-modules" || key == "--target-modules" || key == "--recompute-modules";
}

bool is_option(std::string_view word) { return word.size() > 2 && word.substr(0, 2) == "--" && word[2] != '-'; }

}  // namespace

std::string_view trimmed(std::string_view text) { return trimmed_of(text, space); }

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

Settings read_json_settings(const JsonTree& object) {
  Settings out;
  flatten(object, "", out);
  return out;
}

Settings read_toml(std::string_view text) {
  Settings out;
  std::string section;
  while (!text.empty()) {
    std::string_view line = trimmed(without_comment(next_line(text)));
    const std::size_t equals = line.find('=');
    if (line.size() > 2 && line.front() == '[' && line.back() == ']') {
      section = std::string(trimmed(line.substr(1, line.size() - 2))) + ".";
    } else if (equals != std::string_view::npos) {
      std::string value(trimmed(line.substr(equals + 1)));
      while (!value.empty() && value.front() == '[' && value.find(']') == std::string::npos && !text.empty()) {
        value += ' ';
        value += trimmed(without_comment(next_line(text)));
      }
      out.push_back({section + std::string(trimmed(line.substr(0, equals))), std::string(unquoted(value))});
    }
  }
  return out;
}

Settings read_yaml(std::string_view text) {
  Settings out;
  std::string section;
  std::string last;  // the key before, if it had no value: a list of scalars may follow, one a line
  while (!text.empty()) {
    const std::string_view whole = without_comment(next_line(text));
    const std::string_view line = trimmed(whole);
    if (line.empty()) continue;
    const std::size_t colon = line.find(':');
    if (line.front() == '-' && line.find(": ") == std::string_view::npos && line.back() != ':') {
      const std::string item(unquoted(line.substr(1)));
      if (last.empty() || item.empty()) continue;
      const bool more = !out.empty() && out.back().key == last;
      if (!more) out.push_back({last, "[]"});
      out.back().value.insert(out.back().value.size() - 1, (more ? ", " : "") + item);
      continue;
    }
    if (colon == std::string_view::npos) continue;
    const bool of_list = line.front() == '-';  // the first key of a map in a list
    const bool inner = of_list || whole.front() == ' ' || whole.front() == '\t';
    const std::string key(unquoted(trimmed(line.substr(of_list ? 1 : 0, colon - (of_list ? 1 : 0)))));
    const std::string value(unquoted(line.substr(colon + 1)));
    if (!inner) section = value.empty() ? key + "." : "";
    last = value.empty() ? (inner ? section : "") + key : "";
    if (value.empty()) continue;
    out.push_back({(inner ? section : "") + key, value});
  }
  return out;
}

Settings read_arguments(std::string_view text) {
  Settings out;
  Settings variables;  // NAME=value of a shell script; $NAME and ${NAME} stand for it
  bool open = false;   // the last option may still get a value
  for (std::string word : split_words(text)) {
    const std::size_t equals = word.find('=');
    if (word[0] == '$') {
      const std::string_view name = trimmed_of(std::string_view(word).substr(1), "{}");
      for (const Setting& variable : variables) {
        if (variable.key == name) word = variable.value;
      }
    }
    if (is_option(word)) {
      std::string key = word.substr(0, equals);
      for (char& c : key) {
        if (c == '_') c = '-';
      }
      out.push_back({key, equals == std::string::npos ? "" : word.substr(equals + 1)});
      open = equals == std::string::npos;
    } else if (open) {
      out.back().value += (out.back().value.empty() ? "" : " ") + word;
      open = takes_many(out.back().key);
    } else if (equals != std::string::npos && equals > 0 && variables.size() < most_variables) {
      variables.push_back({word.substr(0, equals), word.substr(equals + 1)});
      if (is_environment(variables.back().key)) out.push_back(variables.back());
    }
  }
  return out;
}

Settings read_dataclass_arguments(std::string_view text) {
  Settings out = read_arguments(text);
  for (Setting& setting : out) {
    if (is_environment(setting.key)) continue;
    setting.key.erase(0, 2);
    for (char& c : setting.key) {
      if (c == '-') c = '_';
    }
    if (setting.value.empty()) setting.value = "true";
  }
  return out;
}

}  // namespace trainmem
