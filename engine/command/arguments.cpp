#include "engine/command/arguments.h"

#include <algorithm>
#include <cstdlib>

#include "engine/config/fields.h"
#include "engine/text/issue_text.h"

namespace trainmem {
namespace {

constexpr const char* commands[] = {"estimate", "plan", "link", "import", "export", "presets", "validate-presets"};

/// Digits alone, at most seven of them; 0: something else.
int whole_number(const std::string& text) {
  if (text.empty() || text.size() > 7 || text.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::atoi(text.c_str());
}

/// "recipe.tensor_parallel", "/recipe/tensor_parallel", "tensor_parallel" and "tp" are all the link's "tp".
std::string link_key(std::string name) {
  for (const Field& field : config_fields()) {
    if (name == field.key || name == field.name()) return field.key;
  }
  std::replace(name.begin(), name.end(), '.', '/');
  const Field* field = find_field_by_path(name.empty() || name[0] == '/' ? name : "/" + name);
  return field == nullptr ? name.substr(name.rfind('/') + 1) : field->key;
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments out;
  const auto problem = [&](const std::string& message) {
    out.issues.push_back({"wrong_argument", "", message, "trainmem --help shows all arguments."});
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--json") {
      out.json = true;
    } else if (word == "--advice") {
      out.advice = true;
    } else if (word == "--num-gpus") {
      const std::string value = i + 1 < words.size() ? words[++i] : "";
      out.num_gpus = whole_number(value);
      if (out.num_gpus == 0) problem("--num-gpus needs a whole number, not " + in_quotes(value) + ".");
    } else if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word == "--version") {
      out.version = true;
    } else if (word == "--format" || word == "--against") {
      if (i + 1 == words.size()) {
        problem(word + " needs a value.");
        break;
      }
      (word == "--format" ? out.format : out.against) = words[++i];
    } else if (word == "--model" || word == "--gpu" || word == "--recipe" || word == "--set") {
      if (i + 1 == words.size()) {
        problem(word + " needs a value.");
        break;
      }
      const std::string& value = words[++i];
      const std::size_t equals = value.find('=');
      if (word != "--set") {
        out.parts.emplace_back(word.substr(2), value);
      } else if (equals == std::string::npos) {
        problem("--set " + in_quotes(value) + " has no =.");
      } else {
        out.parts.emplace_back(link_key(value.substr(0, equals)), value.substr(equals + 1));
      }
    } else if (word.size() > 1 && word[0] == '-') {
      problem("There is no option " + in_quotes(word) + ".");
    } else if (out.command.empty()) {
      out.command = word;
    } else {
      out.words.push_back(word);
    }
  }
  if (out.help || out.version) return out;
  if (out.command.empty()) {
    problem("There is no command.");
  } else if (std::find(std::begin(commands), std::end(commands), out.command) == std::end(commands)) {
    problem("There is no command " + in_quotes(out.command) + ".");
  }
  if (out.command == "plan" && out.num_gpus == 0 && out.issues.empty()) problem("plan needs --num-gpus.");
  if (!out.against.empty() && out.command != "estimate" && out.command != "link") {
    problem("--against goes with estimate and link.");
  }
  if (out.words.size() > 1) problem("There is more than one file or link.");
  return out;
}

}  // namespace trainmem
