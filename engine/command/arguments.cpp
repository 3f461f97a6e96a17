#include "engine/command/arguments.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "engine/config/fields.h"
#include "engine/text/issue_text.h"
#include "engine/text/list.h"

namespace trainmem {
namespace {

struct CommandWord {
  const char* word;
  Command command;
};

constexpr CommandWord command_words[] = {
    {"estimate", Command::estimate},
    {"plan", Command::plan},
    {"link", Command::link},
    {"import", Command::import},
    {"export", Command::export_settings},
    {"presets", Command::presets},
    {"validate-presets", Command::validate_presets},
};

struct Option {
  const char* name;
  const char* commands;  ///< that it goes with, as a list of words; empty: any, and none
  bool has_value;
};

constexpr const char* of_a_configuration = "estimate,plan,link,export";

constexpr Option options[] = {
    {"--json", "estimate,plan,link,import,presets", false},
    {"--advice", "estimate", false},
    {"--against", "estimate,link", true},
    {"--num-gpus", "plan", true},
    {"--format", "export", true},
    {"--model", of_a_configuration, true},
    {"--gpu", of_a_configuration, true},
    {"--recipe", of_a_configuration, true},
    {"--set", of_a_configuration, true},
    {"--help", "", false},
    {"-h", "", false},
    {"--version", "", false},
};

/// Digits alone, at most seven of them; 0: something else.
int whole_number(const std::string& text) {
  if (text.empty() || text.size() > 7 || text.find_first_not_of("0123456789") != std::string::npos) return 0;
  return std::atoi(text.c_str());
}

/// "recipe.tensor_parallel", "/recipe/tensor_parallel", "tensor_parallel" and "tp" are all the link's "tp", and the end
/// of a path from any of its parts on is enough: "lora.rank".
std::string link_key(std::string name) {
  if (const Field* field = find_field_by_key(name)) return field->key;
  std::replace(name.begin(), name.end(), '.', '/');
  const std::string end = name.empty() || name[0] == '/' ? name : "/" + name;
  for (const Field& field : config_fields()) {
    if (std::string_view(field.path).ends_with(end)) return field.key;
  }
  return name.substr(name.rfind('/') + 1);
}

class Reader {
 public:
  Arguments read(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i];
      const auto* option =
          std::find_if(std::begin(options), std::end(options), [&](const Option& each) { return word == each.name; });
      if (option == std::end(options)) {
        plain_word(word);
      } else if (option->has_value && i + 1 == words.size()) {
        problem(word + " needs a value.");
      } else {
        given_.push_back(option);
        set(word, option->has_value ? words[++i] : "");
      }
    }
    if (!out_.help && !out_.version) check();
    return std::move(out_);
  }

 private:
  void problem(const std::string& message) {
    out_.issues.push_back({"wrong_argument", "", message, "trainmem --help shows all arguments."});
  }

  void plain_word(const std::string& word) {
    if (word.size() > 1 && word[0] == '-') {
      problem("There is no option " + in_quotes(word) + ".");
    } else if (command_.empty()) {
      command_ = word;
    } else {
      out_.words.push_back(word);
    }
  }

  void set(const std::string& option, const std::string& value) {
    if (option == "--json") out_.json = true;
    if (option == "--advice") out_.advice = true;
    if (option == "--against") out_.against = value;
    if (option == "--num-gpus") set_num_gpus(value);
    if (option == "--format") out_.format = value;
    if (option == "--model" || option == "--gpu" || option == "--recipe")
      out_.parts.emplace_back(option.substr(2), value);
    if (option == "--set") set_field(value);
    if (option == "--help" || option == "-h") out_.help = true;
    if (option == "--version") out_.version = true;
  }

  void set_num_gpus(const std::string& value) {
    out_.num_gpus = whole_number(value);
    if (out_.num_gpus == 0) problem("--num-gpus needs a whole number, not " + in_quotes(value) + ".");
  }

  void set_field(const std::string& assignment) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) return problem("--set " + in_quotes(assignment) + " has no =.");
    out_.parts.emplace_back(link_key(assignment.substr(0, equals)), assignment.substr(equals + 1));
  }

  /// What only the whole line shows.
  void check() {
    for (const CommandWord& each : command_words)
      if (command_ == each.word) out_.command = each.command;
    if (command_.empty()) return problem("There is no command.");
    if (out_.command == Command::none) return problem("There is no command " + in_quotes(command_) + ".");
    for (const Option* option : given_) {
      const std::string_view commands = option->commands;
      if (!commands.empty() && !has_item(commands, command_))
        problem(std::string(option->name) + " does not go with " + command_ + ".");
    }
    if (out_.command == Command::plan && out_.num_gpus == 0 && out_.issues.empty()) problem("plan needs --num-gpus.");
    if (out_.command == Command::export_settings && out_.format.empty()) problem("export needs --format.");
    if (out_.command == Command::estimate && out_.json && !out_.against.empty())
      problem("--against does not go with estimate --json: ask for each answer alone.");
    if (out_.words.size() > 1) problem("There is more than one file or link.");
  }

  std::string command_;
  std::vector<const Option*> given_;
  Arguments out_;
};

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) { return Reader().read(words); }

}  // namespace trainmem
