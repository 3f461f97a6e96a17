// The border: text in, text out, never a throw. Page, command and tests all use these functions.
//
// Every answer is a JSON object with "ok". If ok is false, "issues" lists everything that is wrong, each with code,
// path, message and hint. presets/README.md describes requests and answers in full.
#pragma once

#include <string>

namespace trainmem {

/// A configuration as JSON, or a link -> {"ok":true,"result":{...},"config":{...},"link":"v=1&..."}.
std::string estimate(const std::string& request);

/// The same request -> {"ok":true,"advice":{...}}: what to change, each change tried. Takes as long as some thirty
/// estimates.
std::string advice(const std::string& request);

/// The same request and a number of GPUs -> {"ok":true,"plan":{...}}: layouts of them that fit, best first.
std::string plan(const std::string& request, int num_gpus);

/// The same request with one field or preset set to each of several values, divided by commas ->
/// {"ok":true,"points":[...]}; sweep.h describes a point.
std::string sweep(const std::string& request, const std::string& path, const std::string& values);

/// A link -> {"ok":true,"config":{...},"link":"canonical"}; if broken also "issues", and config holds the rest. Of a
/// link of two configurations these are of the second one, and "against" is the first.
std::string read_link(const std::string& link);

/// A configuration as JSON -> {"ok":true,"link":"v=1&..."}.
std::string write_link(const std::string& json);

/// Two configurations as JSON -> {"ok":true,"link":"v=1&a....&b....&end"}.
std::string write_comparison(const std::string& a, const std::string& b);

/// Whatever describes a model or a run (a config.json, DeepSpeed JSON, torchtitan TOML, Megatron arguments, accelerate
/// YAML, our JSON, a link) -> {"ok", "format", "sections", "config", "applied", "unused"}; engine/launch/import.h.
std::string read_settings(const std::string& text);

/// A configuration as JSON, or a link -> {"ok":true,"settings":[{"format","title","file","text","not_said"}]}.
std::string write_settings(const std::string& request);

/// What hbm_bandwidth --json printed -> {"ok":true,"bandwidth_gb_per_s":3012.4,"device":"...","what":"..."}; of
/// several devices the slowest, which sets the pace of a step.
std::string read_measurement(const std::string& json);

/// All presets and all fields: what the page builds its controls from.
std::string presets();

std::string version();

}  // namespace trainmem
