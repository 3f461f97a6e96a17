#include "engine/json_io_tree.h"

#include "engine/config_fields.h"
#include "engine/issue_text.h"
#include "engine/json_lexer.h"

namespace trainmem {
namespace {

constexpr std::size_t deepest = 8;  // a configuration needs three levels

/// Reads tokens and grows the tree; what is false has stopped with an issue.
class TreeReader {
 public:
  TreeReader(std::string_view text, JsonText& out) : text_(text), lexer_(text), out_(out) {}

  bool read() { return value(lexer_.next()) && (lexer_.next() == JsonToken::end || fail()); }

 private:
  bool value(JsonToken token) {
    JsonTree tree;
    switch (token) {
      case JsonToken::null: break;
      case JsonToken::boolean:
        tree.kind = JsonKind::boolean;
        tree.boolean = lexer_.boolean();
        break;
      case JsonToken::integer:
        tree.kind = JsonKind::integer;
        tree.integer = lexer_.integer();
        tree.number = lexer_.number();
        break;
      case JsonToken::number:
        tree.kind = JsonKind::number;
        tree.number = lexer_.number();
        break;
      case JsonToken::text:
        tree.kind = JsonKind::text;
        tree.text = std::move(lexer_.text());
        break;
      case JsonToken::mark:
        if (lexer_.last() == '{') return open(JsonKind::object) && members();
        if (lexer_.last() == '[') return open(JsonKind::array) && items();
        return fail();
      case JsonToken::too_large: return fail_too_large();
      case JsonToken::wrong:
      case JsonToken::end: return fail();
    }
    place(std::move(tree));
    return true;
  }

  bool members() {
    JsonToken token = lexer_.next();
    if (token == JsonToken::mark && lexer_.last() == '}') return close();
    for (;; token = lexer_.next()) {
      if (token != JsonToken::text) return fail();
      key();
      if (!mark(":") || !value(lexer_.next()) || !mark(",}")) return false;
      if (lexer_.last() == '}') return close();
    }
  }

  bool items() {
    JsonToken token = lexer_.next();
    if (token == JsonToken::mark && lexer_.last() == ']') return close();
    for (;; token = lexer_.next()) {
      if (!value(token) || !mark(",]")) return false;
      if (lexer_.last() == ']') return close();
    }
  }

  /// The next token must be one of these characters.
  bool mark(std::string_view allowed) {
    const bool found = lexer_.next() == JsonToken::mark && allowed.find(lexer_.last()) != std::string_view::npos;
    return found || fail();
  }

  void key() {
    std::string& name = lexer_.text();
    if (path_.back()->find(name) != nullptr) {
      std::string path = pointer();
      append_pointer(path, name);
      out_.issues.push_back(
          {"duplicate_key", path, in_quotes(name) + " is given more than once.", "Keep one of them."});
    }
    key_ = std::move(name);
  }

  bool fail_too_large() {
    out_.readable = false;
    out_.issues.push_back({"out_of_range", pointer_to_next(),
                           "The number " + in_quotes(lexer_.raw()) + " is too large.", "Give a smaller number."});
    return false;
  }

  bool fail() {
    out_.readable = false;
    if (lexer_.ended()) {
      out_.issues.push_back({"not_json", pointer(), "The text is not JSON: it ends too early.",
                             "Copy the whole text, to its last closing bracket."});
      return false;
    }
    const std::string_view before = text_.substr(0, lexer_.position() - 1);
    std::int64_t line = 1;
    for (const char c : before) line += c == '\n' ? 1 : 0;
    const auto column = static_cast<std::int64_t>(before.size() - (before.rfind('\n') + 1)) + 1;
    out_.issues.push_back({"not_json", pointer(),
                           "The text is not JSON: unexpected " + in_quotes(text_.substr(before.size(), 1)) +
                               " at line " + std::to_string(line) + ", column " + std::to_string(column) + ".",
                           "Check brackets, quotes and commas there."});
    return false;
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
  JsonLexer lexer_;
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

JsonText parse_json(std::string_view text) {
  JsonText out;
  TreeReader(text, out).read();
  return out;
}

}  // namespace trainmem
