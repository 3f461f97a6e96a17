#include "engine/text/json_tree.h"

#include <nlohmann/json.hpp>

#include "engine/text/issue_text.h"

namespace trainmem {
namespace {

constexpr std::size_t deepest = 8;    // a configuration needs three levels
constexpr int number_overflow = 406;  // nlohmann's id of "number overflow"

/// Receives the library's parse events and grows the tree.
class TreeBuilder {
 public:
  using number_integer_t = std::int64_t;
  using number_unsigned_t = std::uint64_t;
  using number_float_t = double;
  using string_t = std::string;
  using binary_t = nlohmann::json::binary_t;

  TreeBuilder(std::string_view text, JsonText& out) : text_(text), out_(out) {}

  bool null() { return add({}); }
  bool boolean(bool value) {
    JsonTree tree;
    tree.kind = JsonKind::boolean;
    tree.boolean = value;
    return add(std::move(tree));
  }
  bool number_integer(std::int64_t value) {
    JsonTree tree;
    tree.kind = JsonKind::integer;
    tree.integer = value;
    tree.number = static_cast<double>(value);
    return add(std::move(tree));
  }
  bool number_unsigned(std::uint64_t value) {
    if (value <= static_cast<std::uint64_t>(INT64_MAX)) return number_integer(static_cast<std::int64_t>(value));
    return number_float(static_cast<double>(value), {});
  }
  bool number_float(double value, const std::string&) {
    JsonTree tree;
    tree.kind = JsonKind::number;
    tree.number = value;
    return add(std::move(tree));
  }
  bool string(std::string& value) {
    JsonTree tree;
    tree.kind = JsonKind::text;
    tree.text = std::move(value);
    return add(std::move(tree));
  }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return open(JsonKind::object); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(JsonKind::array); }
  bool end_array() { return close(); }

  bool key(std::string& value) {
    if (path_.back()->find(value) != nullptr) {
      std::string path = pointer();
      append_pointer(path, value);
      out_.issues.push_back(
          {"duplicate_key", path, in_quotes(value) + " is given more than once.", "Keep one of them."});
    }
    key_ = std::move(value);
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string& last_token, const Exception& error) {
    out_.readable = false;
    if (error.id == number_overflow) {
      out_.issues.push_back({"out_of_range", pointer_to_next(),
                             "The number " + in_quotes(last_token) + " is too large.", "Give a smaller number."});
      return false;
    }
    if (position > text_.size()) {
      out_.issues.push_back({"not_json", pointer(), "The text is not JSON: it ends too early.",
                             "Copy the whole text, to its last closing bracket."});
      return false;
    }
    const std::string_view before = text_.substr(0, position == 0 ? 0 : position - 1);
    std::int64_t line = 1;
    for (const char c : before) line += c == '\n' ? 1 : 0;
    const auto column = static_cast<std::int64_t>(before.size() - (before.rfind('\n') + 1)) + 1;
    out_.issues.push_back({"not_json", pointer(),
                           "The text is not JSON: unexpected " + in_quotes(text_.substr(before.size(), 1)) +
                               " at line " + std::to_string(line) + ", column " + std::to_string(column) + ".",
                           "Check brackets, quotes and commas there."});
    return false;
  }

 private:
  bool add(JsonTree tree) {
    place(std::move(tree));
    return true;
  }

  JsonTree* place(JsonTree tree) {
    if (path_.empty()) {
      out_.root = std::move(tree);
      return &out_.root;
    }
    tree.key = std::move(key_);
    key_.clear();
    path_.back()->children.push_back(std::move(tree));
    return &path_.back()->children.back();
  }

  bool open(JsonKind kind) {
    if (path_.size() == deepest) {
      out_.readable = false;
      out_.issues.push_back({"too_deep", pointer_to_next(), "Brackets are nested too deeply.",
                             "A configuration has at most three levels."});
      return false;
    }
    JsonTree tree;
    tree.kind = kind;
    path_.push_back(place(std::move(tree)));
    return true;
  }

  bool close() {
    path_.pop_back();
    return true;
  }

  std::string pointer() const {
    std::string path;
    for (const JsonTree* tree : path_) {
      if (!tree->key.empty()) append_pointer(path, tree->key);
    }
    return path;
  }

  std::string pointer_to_next() const {
    std::string path = pointer();
    if (!key_.empty()) append_pointer(path, key_);
    return path;
  }

  std::string_view text_;
  JsonText& out_;
  std::vector<JsonTree*> path_;  // open objects and arrays; children grow only at the innermost
  std::string key_;
};

}  // namespace

const JsonTree* JsonTree::find(std::string_view member) const {
  if (kind != JsonKind::object) return nullptr;
  for (const JsonTree& child : children) {
    if (child.key == member) return &child;
  }
  return nullptr;
}

namespace {

JsonText parse_strictly(std::string_view text) {
  JsonText out;
  TreeBuilder builder(text, out);
  // The parser alone: json::sax_parse would bring readers of five binary formats with it.
  using Input = decltype(nlohmann::detail::input_adapter(text.data(), text.data()));
  nlohmann::detail::parser<nlohmann::json, Input>(
      nlohmann::detail::input_adapter(text.data(), text.data() + text.size()))
      .sax_parse(&builder);
  return out;
}

/// Python's json writes infinities, which JSON does not have, by a word; each becomes null, as long as it was.
std::string without_infinities(std::string_view text) {
  std::string plain(text);
  bool quoted = false;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (quoted && plain[i] == '\\') {
      ++i;
    } else if (plain[i] == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      for (const std::string_view word : {"-Infinity", "Infinity"}) {
        if (plain.compare(i, word.size(), word) != 0) continue;
        plain.replace(i, word.size(), std::string("null").append(word.size() - 4, ' '));
        break;
      }
    }
  }
  return plain;
}

}  // namespace

// Infinity, which Python writes into a config.json, is read as null.
JsonText parse_json(std::string_view text) {
  JsonText out = parse_strictly(text);
  if (out.readable || text.find("Infinity") == std::string_view::npos) return out;
  JsonText plain = parse_strictly(without_infinities(text));
  return plain.readable ? plain : out;
}

void write_tree(const JsonTree& tree, JsonWriter& out) {
  switch (tree.kind) {
    case JsonKind::null: out.raw("null"); break;
    case JsonKind::boolean: out.boolean(tree.boolean); break;
    case JsonKind::integer: out.integer(tree.integer); break;
    case JsonKind::number: out.number(tree.number); break;
    case JsonKind::text: out.text(tree.text); break;
    case JsonKind::array:
      out.open_array();
      for (const JsonTree& item : tree.children) write_tree(item, out);
      out.close_array();
      break;
    case JsonKind::object:
      out.open_object();
      for (const JsonTree& member : tree.children) write_tree(member, out.key(member.key));
      out.close_object();
      break;
  }
}

}  // namespace trainmem
