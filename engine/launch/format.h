// What one framework's settings mean: a table of keys, read in both directions.
//
// A row says that a key, with a certain value or with any, is a field of the configuration with a certain value or
// with the same one. Rows of one key and value belong together: reading applies all of them, writing needs them all.
// Keys that mean something only together are read by `finish` and written by `extra`.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "engine/config.h"
#include "engine/issue.h"
#include "engine/launch/settings.h"

namespace trainmem {

enum class Write : std::uint8_t { if_set, always, never };  ///< if_set: where it differs from the framework's default

/// Why a key is not used that matters.
inline constexpr const char* uncounted = "It changes memory; this version does not count it.";
inline constexpr const char* other_loss =
    "Counted is the loss of a language model, without a second model or pairs of answers.";

struct KeyRule {
  const char* key;
  const char* path;              ///< the field; null: a key that matters but is not modelled, `ours` says why
  const char* theirs = nullptr;  ///< this value; "": a flag; null: the value itself; "*": any other value
  const char* ours = nullptr;    ///< the field's value; null: theirs
  Write write = Write::if_set;
};

struct AppliedKey {
  std::string key, value;
  std::string path, set;  ///< the field, and the value that it has now
};

struct UnusedKey {
  std::string key, value;
  std::string why;  ///< empty: it is no part of a configuration
};

/// A settings file while it is read.
struct Import {
  std::string format;  ///< a SettingsFormat's name, "huggingface", "trainmem" or "link"
  Config config;
  bool has_model = false;   ///< config.model or config.model_preset comes from the text
  bool has_gpu = false;     ///< the same for the GPU
  bool has_recipe = false;  ///< the same for the recipe
  std::vector<AppliedKey> applied;
  std::vector<UnusedKey> unused;
  Issues issues;
};

/// Looks settings up by key and remembers which were used.
class SettingsReading {
 public:
  SettingsReading(const Settings& settings, Import& out)
      : settings_(settings), out_(out), used_(settings.size(), false) {}

  /// The last one counts, as the frameworks have it; null also if the text computes it.
  const std::string* find(const char* key) const;
  bool is_unread(const char* key) const;                                ///< the text computes it
  std::int64_t integer(const char* key, std::int64_t otherwise) const;  ///< up to a billion
  bool is_on(const char* key) const;                                    ///< true, yes, on, 1
  /// Sets a field to a value and notes that the key did it.
  void apply(const char* key, const char* path, const std::string& value);
  void leave(const char* key, const std::string& why);
  /// Notes that the key did something that is no single field.
  void note(const char* key, const char* path, const std::string& set);
  void apply_rules(const KeyRule* rules, int count);
  /// Lists what the text computes, with a reason where the key is one of these, or of the rules'.
  void list_unread(const KeyRule* rules, int count, std::initializer_list<const char*> keys);
  void list_the_rest();

  Import& out() { return out_; }

 private:
  /// A row that holds for the value of its key.
  void apply_row(const KeyRule& row, const std::string& value);
  void mark(const char* key);

  const Settings& settings_;
  Import& out_;
  std::vector<bool> used_;
};

/// PYTORCH_CUDA_ALLOC_CONF before a command.
void take_allocator(SettingsReading& reading);

struct SettingsFormat {
  const char* name;
  const char* title;  ///< for people: "Megatron-LM arguments"
  const char* file;   ///< the usual name of such a file
  const KeyRule* rules;
  int rule_count;
  bool has_model;     ///< its keys describe the model too
  Config (*start)();  ///< what an empty file means
  void (*finish)(SettingsReading&);
  void (*extra)(const Config&, Settings&);  ///< keys that go before those of the table; null: nothing is written
  Settings (*read)(std::string_view);
  std::string (*write)(const Settings&);
};

const SettingsFormat& megatron_format();
const SettingsFormat& torchtitan_format();
bool is_torchtitan(const Settings& settings);  ///< of its TOML: do they stand under one of its headings?
const SettingsFormat& deepspeed_format();
const SettingsFormat& accelerate_format();
/// These are read only.
const SettingsFormat& trainer_format();
const SettingsFormat& llamafactory_format();
const SettingsFormat& ms_swift_format();
const SettingsFormat& axolotl_format();
const SettingsFormat& torchtune_format();
const SettingsFormat& python_format();

}  // namespace trainmem
