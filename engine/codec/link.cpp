#include "engine/codec/link.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/config/text.h"
#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "engine/text/issue_text.h"
#include "engine/text/nearest_words.h"

namespace trainmem {
namespace {

struct Part {
  std::string key;
  std::string value;
  bool has_value = false;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool stands_for_itself(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_' ||
         c == '~' || c == ',' || c == '*' || c == '(' || c == ')';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// False: a percent sign without two hexadecimal digits.
bool percent_decode(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return true;
}

std::string link_path(std::string_view key) {
  std::string path = "/link";
  append_pointer(path, key);
  return path;
}

/// What follows # or ?, without white space around it.
std::string_view content_of(std::string_view link) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = link.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  link = link.substr(first, link.find_last_not_of(space) - first + 1);
  const std::size_t fragment = link.find('#');
  if (fragment != std::string_view::npos) return link.substr(fragment + 1);
  const std::size_t query = link.find('?');
  if (query != std::string_view::npos) return link.substr(query + 1);
  return link.find("://") == std::string_view::npos ? link : std::string_view{};
}

std::vector<Part> split(std::string_view content, Issues& issues) {
  std::vector<Part> parts;
  while (!content.empty()) {
    const std::string_view piece = content.substr(0, content.find('&'));
    content.remove_prefix(piece.size() == content.size() ? piece.size() : piece.size() + 1);
    const std::size_t equals = piece.find('=');
    Part part;
    part.has_value = equals != std::string_view::npos;
    const bool sound = percent_decode(piece.substr(0, equals), part.key) &&
                       percent_decode(part.has_value ? piece.substr(equals + 1) : std::string_view{}, part.value);
    if (!sound) {
      issues.push_back({"bad_encoding", link_path(piece.substr(0, equals)),
                        in_quotes(piece) + " has a % that is not followed by two hexadecimal digits.",
                        "Copy the link again."});
      continue;
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

/// The version is read before anything else, for it says what the rest means.
void read_version(const std::vector<Part>& parts, Issues& issues) {
  bool given = false;
  for (const Part& part : parts) {
    if (part.key != "v") continue;
    given = true;
    if (part.value == std::to_string(link_version)) continue;
    const bool newer = is_number_text(part.value, true) && std::strtoll(part.value.c_str(), nullptr, 10) > link_version;
    if (newer) {
      issues.push_back({"newer_version", "/link/v",
                        "The link is of version " + part.value + "; this program reads version " +
                            std::to_string(link_version) + ". Parts of it may mean something else.",
                        "Open it with a newer trainmem."});
    } else {
      issues.push_back({"wrong_type", "/link/v", "The link's version cannot be " + in_quotes(part.value) + ".",
                        "Version " + std::to_string(link_version) + " is the only one."});
    }
  }
  const bool ended = !parts.empty() && parts.back().key == "end" && !parts.back().has_value;
  if (given && !ended) {
    issues.push_back({"cut_off", "/link/end", "The link does not close with \"end\": its last part may be lost.",
                      "Copy the whole link again. If you wrote it yourself, add \"&end\"."});
  }
}

void report_duplicates(const std::vector<Part>& parts, Issues& issues) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t earlier = 0;
    for (std::size_t j = 0; j < i; ++j) earlier += parts[j].key == parts[i].key ? 1 : 0;
    if (earlier == 1) {
      issues.push_back({"duplicate_key", link_path(parts[i].key), in_quotes(parts[i].key) + " is given more than once.",
                        "Keep one of them."});
    }
  }
}

const Part* find(const std::vector<Part>& parts, std::string_view key) {
  for (const Part& part : parts) {
    if (part.key == key) return &part;
  }
  return nullptr;
}

void report_unknown(const Part& part, Issues& issues) {
  std::vector<std::string_view> known = {"model", "gpu", "recipe"};
  for (const Field& field : config_fields()) {
    known.emplace_back(field.key);
    known.emplace_back(field.name());
  }
  const auto field_of = [](const std::string& word) {
    const Field* of_key = find_field_by_key(word);
    for (const Field& field : config_fields()) {
      if (of_key == nullptr && field.name() == word) return &field;
    }
    return of_key;
  };
  std::string hint;
  if (issues.size() >= issues_with_words) known.clear();
  for (const std::string& near : nearest_words(known, part.key, 3)) {
    const Field* field = field_of(near);
    const std::string key = in_quotes(field == nullptr ? near : std::string(field->key));
    if (hint.find(key) != std::string::npos) continue;
    hint += (hint.empty() ? "Did you mean " : " or ") + key;
    if (field != nullptr && field->key != field->name()) hint += " (" + std::string(field->name()) + ")";
  }
  hint += hint.empty() ? "The page about links and presets/README.md list all fields." : "?";
  issues.push_back({"unknown_key", link_path(part.key), "There is no field " + in_quotes(part.key) + ".", hint});
}

bool is_of_model(const Field& field) { return std::string_view(field.path).substr(0, 7) == "/model/"; }

/// Stores the parts that are the model's fields, or all others.
void store_fields(const std::vector<Part>& parts, bool of_model, const Store& to) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.key == "v" || part.key == "model" || part.key == "gpu" || part.key == "recipe") continue;
    if (part.key == "end" && !part.has_value && i + 1 == parts.size()) continue;
    if (part.key.compare(0, 5, "view.") == 0) continue;  // settings of the page, such as its units
    if (find(parts, part.key) != &part) continue;        // a duplicate: the first one counts, and is reported
    const Field* field = find_field_by_key(part.key);
    if ((field != nullptr && is_of_model(*field)) != of_model) continue;
    if (field == nullptr) {
      report_unknown(part, to.issues);
    } else if (!part.has_value) {
      to.wrong_type(*field, "empty");
    } else {
      store_text(*field, part.value, to);
    }
  }
}

/// Does the link describe a model of its own? A link leaves out what is as in a model of which nothing is said.
bool gives_model(const Config& config) {
  if (!config.model_preset.empty()) return true;
  for (const Field& field : config_fields()) {
    if (is_of_model(field) && !same(field, config, Config{})) return true;
  }
  return false;
}

bool gives_gpu(const std::vector<Part>& parts) {
  for (const Part& part : parts) {
    const Field* field = find_field_by_key(part.key);
    if (field != nullptr && std::string_view(field->path).substr(0, 5) == "/gpu/") return true;
  }
  return false;
}

}  // namespace

std::string percent_encode(std::string_view text) {
  constexpr const char* hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (stands_for_itself(c)) {
      out += c;
    } else {
      out += '%';
      out += hex[static_cast<unsigned char>(c) >> 4U];
      out += hex[static_cast<unsigned char>(c) & 15U];
    }
  }
  return out;
}

Config link_base_of(const Config& config) {
  Config base = base_of(config);
  if (config.recipe_preset.empty() && config.recipe.framework == Framework::torchtitan)
    base.recipe.torchtitan_release = unsaid_release;
  return base;
}

std::string format_link(const Config& config) {
  const Config base = link_base_of(config);
  std::string link = "v=" + std::to_string(link_version);
  if (!config.model_preset.empty()) link += "&model=" + percent_encode(config.model_preset);
  if (!config.gpu_preset.empty()) link += "&gpu=" + percent_encode(config.gpu_preset);
  if (!config.recipe_preset.empty()) link += "&recipe=" + percent_encode(config.recipe_preset);
  for (const Field& field : config_fields()) {
    if (same(field, config, base)) continue;
    link += '&';
    link += field.key;
    link += '=';
    const bool free_text = field.in(config).type() == FieldType::text;
    const std::string value = value_text(field, config);
    link += free_text ? percent_encode(value) : value;
  }
  return link + "&end";
}

Issues refused_link(std::string_view link) {
  const auto too_long = [](std::size_t number, int most, const std::string& unit) {
    return Issues{{"too_long", "", "The link has " + std::to_string(number) + unit + ".",
                   "A link has at most " + std::to_string(most) + unit + "."}};
  };
  if (link.size() > static_cast<std::size_t>(longest_link)) return too_long(link.size(), longest_link, " bytes");
  const auto parts = static_cast<std::size_t>(std::count(link.begin(), link.end(), '&')) + 1;
  if (parts > static_cast<std::size_t>(most_parts)) return too_long(parts, most_parts, " parts");
  return {};
}

ReadConfig parse_link(std::string_view link) {
  ReadConfig out;
  out.issues = refused_link(link);
  if (!out.issues.empty()) {
    out.readable = false;
    return out;
  }
  const std::vector<Part> parts = split(content_of(link), out.issues);
  read_version(parts, out.issues);
  report_duplicates(parts, out.issues);
  const Store to{out.config, out.issues};

  const Part* model = find(parts, "model");
  const Part* gpu = find(parts, "gpu");
  const Part* recipe = find(parts, "recipe");
  const Part* framework = find(parts, "fw");
  if (model != nullptr) apply_model_preset(model->value, out.config, out.issues);
  if (gpu != nullptr) apply_gpu_preset(gpu->value, out.config, out.issues);
  // A recipe starts from the model as the link gives it.
  store_fields(parts, true, to);
  const std::string_view recipe_named = recipe != nullptr ? std::string_view(recipe->value) : std::string_view{};
  // A model that could not be read is reported, and leaves the recipe's own.
  if (!gives_model(out.config) && (model == nullptr || !recipe_named.empty())) {
    out.model_known = take_model_of_recipe(recipe_named, gpu != nullptr || gives_gpu(parts), out.config, out.issues);
    Issues reported_above;
    store_fields(parts, true, {out.config, reported_above});
  }
  start_recipe(out.config, Recipe{}.framework);
  if (recipe != nullptr) {
    apply_recipe_preset(recipe->value, out.config, out.issues);
  } else if (framework != nullptr) {
    const Part* release = find(parts, "titan");
    const std::string_view named = release != nullptr ? std::string_view(release->value) : std::string_view{};
    start_recipe_of(out.config, framework->value, named, unsaid_release);
  }
  store_fields(parts, false, to);
  for (const Issue& issue : out.issues) {
    if (issue.path == "/model") out.model_known = false;
  }
  complete(out.config);
  return out;
}

}  // namespace trainmem
