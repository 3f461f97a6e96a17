#include "engine/border/sweep.h"

#include "engine/advice/advice.h"
#include "engine/border/json_io_advice.h"
#include "engine/codec/link.h"
#include "engine/config/text.h"
#include "engine/config/values.h"
#include "engine/presets/apply.h"
#include "engine/text/json_writer.h"
#include "engine/validation/validate.h"

namespace trainmem {

namespace {

/// Where completions are trained, a sequence is longer or shorter by its completion.
void keep_prompt(const Recipe& before, Recipe& recipe) {
  if (before.objective != Objective::grpo) return;
  const std::int64_t completion = recipe.sequence_length - (before.sequence_length - before.completion_length);
  if (completion > 0) recipe.completion_length = completion;
}

/// The configuration with one field or one section set.
Config with_value(const Config& base, std::string_view path, const std::string& value, Issues& issues) {
  Config config = base;
  if (path == "/model") {
    config.model = Model{};
    apply_model_preset(value, config, issues);
    complete(config);
  } else if (path == "/gpu") {
    config.gpu = Gpu{};
    apply_gpu_preset(value, config, issues);
  } else if (path == "/recipe") {
    config.recipe = Recipe{};
    apply_recipe_preset(value, config, issues);
  } else if (const Field* field = find_field_by_path(path)) {
    store_text(*field, value, {config, issues});
  } else {
    issues.push_back({"unknown_key", std::string(path), "There is no such field.", "presets/README.md lists all."});
  }
  if (path == "/recipe/sequence_length") keep_prompt(base.recipe, config.recipe);
  if (issues.empty()) issues = validate(config);
  return config;
}

void write_point(const Config& base, std::string_view path, const std::string& value, JsonWriter& out) {
  Issues issues;
  const Config config = with_value(base, path, value, issues);
  out.open_object();
  out.key("value").text(value);
  out.key("ok").boolean(issues.empty());
  if (issues.empty()) {
    out.key("link").text(format_link(config));
    out.key("after");
    write_outcome(outcome(config), out);
  } else {
    out.key("issues").raw(write_issues(issues));
  }
  out.close_object();
}

}  // namespace

std::string write_sweep(const Config& config, std::string_view path, std::string_view values) {
  JsonWriter out;
  out.open_array();
  for (int points = 0; points < most_sweep_points; ++points) {
    const std::size_t comma = values.find(',');
    write_point(config, path, std::string(values.substr(0, comma)), out);
    if (comma == std::string_view::npos) break;
    values.remove_prefix(comma + 1);
  }
  out.close_array();
  return out.take();
}

}  // namespace trainmem
