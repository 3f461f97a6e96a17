// The one table of every field of a configuration.
//
// JSON reader and writer, links, validation, the page's form and presets/README.md are all driven by it. A field
// that is added to config.h is added to table.cpp, or to table_recipe.h, and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/config.h"
#include "engine/config/words.h"
#include "engine/issue.h"

namespace trainmem {

enum class FieldType : std::uint8_t { integer, number, boolean, enumeration, text };
const char* name(FieldType type);

/// Puts a text that has a grammar into the one form that stands for it; else an issue without its path.
using NormalizeText = bool (*)(std::string_view given, std::string& text, Issue& issue);

/// A reference to one member of a configuration, whatever its type.
class Member {
 public:
  Member(std::int64_t& value) : address_(&value), type_(FieldType::integer) {}
  Member(Size& value) : address_(&value), type_(FieldType::integer) {}
  Member(double& value) : address_(&value), type_(FieldType::number) {}
  Member(bool& value) : address_(&value), type_(FieldType::boolean) {}
  Member(std::string& value, NormalizeText grammar = nullptr)
      : address_(&value), type_(FieldType::text), normalize_(grammar) {}
  template <class Enumeration>
  Member(Enumeration& value)
      : address_(&value), type_(FieldType::enumeration), size_(sizeof(Enumeration)), words_(trainmem::words(value)) {}

  FieldType type() const { return type_; }
  Words words() const { return words_; }
  std::int64_t& integer() const { return *static_cast<std::int64_t*>(address_); }
  double& number() const { return *static_cast<double*>(address_); }
  bool& boolean() const { return *static_cast<bool*>(address_); }
  std::string& text() const { return *static_cast<std::string*>(address_); }
  NormalizeText normalize() const { return normalize_; }  ///< of texts; null: any text is one
  int choice() const;                                     ///< the index of an enumeration's value
  void choose(int index) const;
  const char* word() const { return words_.first[choice()]; }

 private:
  void* address_;
  FieldType type_;
  std::uint8_t size_ = 0;
  Words words_;
  NormalizeText normalize_ = nullptr;
};

/// One field: where it stands, what it may be, what it means.
struct Field {
  const char* path;  ///< JSON pointer: "/recipe/tensor_parallel"
  const char* key;   ///< in links: "tp"
  Member (*member)(Config&);
  double minimum;       ///< integers and numbers
  double maximum;       ///< integers and numbers; of texts the length
  const char* unit;     ///< "tokens", "bytes", "layers"; empty: none
  const char* group;    ///< heading under which the page shows it
  const char* meaning;  ///< one sentence

  std::string_view name() const;  ///< last part of the path, the member's name
  Member in(Config& config) const { return member(config); }
  Member in(const Config& config) const { return member(const_cast<Config&>(config)); }  ///< for reading only
};

struct FieldList {
  const Field* first;
  int count;

  const Field* begin() const { return first; }
  const Field* end() const { return first + count; }
};

/// All fields, in the order of config.h: model, gpu, recipe.
FieldList config_fields();

const Field* find_field_by_path(std::string_view path);
const Field* find_field_by_key(std::string_view key);

/// Do both configurations hold the same value in this field?
bool same(const Field& field, const Config& a, const Config& b);
void copy(const Field& field, const Config& from, Config& to);

/// The index of a word in an enumeration, or -1.
int find_word(Words words, std::string_view text);

/// "a whole number from 1 to 1024", "one of: pre, post": what a field may hold, for messages and documents.
std::string allowed_values(const Field& field);

}  // namespace trainmem
