#include "engine/launch/python_calls.h"

#include <algorithm>

#include "engine/config/text.h"

namespace trainmem {
namespace {

constexpr int deepest = 6;                   // calls, dicts and lists within each other
constexpr std::size_t most_variables = 200;  // each use looks through them
constexpr std::size_t longest_shown = 60;    // bytes of an expression that is not read

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }
bool opens(char c) { return c == '(' || c == '[' || c == '{'; }
bool closes(char c) { return c == ')' || c == ']' || c == '}'; }
bool quotes(char c) { return c == '"' || c == '\''; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// After the string that begins here. It ends with its line, unless its quotes are tripled.
std::size_t after_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const auto tripled = [&](std::size_t here) {
    return here + 2 < text.size() && text[here] == quote && text[here + 1] == quote && text[here + 2] == quote;
  };
  const bool triple = tripled(at);
  for (at += triple ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (!triple && text[at] == '\n') {
      return at;
    } else if (text[at] == quote && (!triple || tripled(at))) {
      return at + (triple ? 3 : 1);
    }
  }
  return text.size();
}

std::size_t after_line(std::string_view text, std::size_t at) { return std::min(text.find('\n', at), text.size()); }

/// Past white space, comments and joined lines.
std::size_t past_blanks(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (is_blank(text[at]) || text[at] == '\n' || text[at] == '\\') {
      ++at;
    } else if (text[at] == '#') {
      at = after_line(text, at);
    } else {
      break;
    }
  }
  return at;
}

std::size_t after_name(std::string_view text, std::size_t at, bool dots) {
  while (at < text.size() && (in_name(text[at]) || (dots && text[at] == '.'))) ++at;
  return at;
}

struct Expression {
  std::string_view text;  ///< without white space and comments around it
  std::size_t end;        ///< where the comma, the bracket or the line stands that ends it
};

/// The expression that begins here: up to a comma, a closing bracket or, if `line`, the end of the line.
Expression expression(std::string_view text, std::size_t at, bool line) {
  at = line ? at : past_blanks(text, at);
  while (line && at < text.size() && is_blank(text[at])) ++at;
  const std::size_t first = at;
  std::size_t last = at;
  int nested = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#') {
      at = after_line(text, at);
      continue;
    }
    if (nested == 0 && (c == ',' || closes(c) || (line && c == '\n'))) break;
    nested += opens(c) ? 1 : closes(c) ? -1 : 0;
    at = quotes(c) ? after_string(text, at) : at + 1;
    if (!is_blank(c) && c != '\n' && c != '\\') last = at;
  }
  return {text.substr(first, last - first), at};
}

/// What stands between brackets, less them; false if it is not one pair of these brackets.
bool within(std::string_view text, char open, char close, std::string_view& inside) {
  if (text.size() < 2 || text.front() != open || text.back() != close) return false;
  int nested = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '#') {
      at = after_line(text, at);
      continue;
    }
    nested += opens(text[at]) ? 1 : closes(text[at]) ? -1 : 0;
    if (nested == 0 && at + 1 < text.size()) return false;
    at = quotes(text[at]) ? after_string(text, at) : at + 1;
  }
  inside = text.substr(1, text.size() - 2);
  return true;
}

std::vector<std::string_view> items(std::string_view inside) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < inside.size(); ++at) {
    const Expression item = expression(inside, at, false);
    if (!item.text.empty()) out.push_back(item.text);
    at = item.end;
  }
  return out;
}

/// A string with its prefix; one that puts values in is none.
bool string_literal(std::string_view text, std::string& out) {
  std::size_t at = 0;
  while (at < text.size() && at < 2 && begins_name(text[at])) ++at;
  const bool puts_in = text.substr(0, at).find_first_of("fF") != std::string_view::npos;
  if (at == text.size() || !quotes(text[at]) || after_string(text, at) != text.size()) return false;
  const std::size_t quote = text.substr(at, 3) == R"(""")" || text.substr(at, 3) == "'''" ? 3 : 1;
  if (text.size() < at + 2 * quote || text.back() != text[at]) return false;
  out = std::string(text.substr(at + quote, text.size() - at - 2 * quote));
  return !puts_in || out.find('{') == std::string::npos;
}

bool number_literal(std::string_view text, std::string& out) {
  out.assign(text);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return is_number_text(out, false);
}

bool has_last(std::string_view name, std::string_view last) {
  return name.size() >= last.size() && name.substr(name.size() - last.size()) == last;
}

class Reader {
 public:
  explicit Reader(bool (*wanted)(std::string_view)) : wanted_(wanted) {}

  void scan(std::string_view text, int depth);
  std::vector<PythonCall> calls;

 private:
  /// Reads the arguments from here, and goes behind the bracket that closes them.
  std::size_t read_call(std::string_view name, std::string_view text, std::size_t at, int depth);
  void read_argument(std::string_view argument, int unnamed, int depth, Settings& out);
  void read_value(const std::string& key, std::string_view value, int depth, Settings& out);
  bool read_dict(const std::string& key, std::string_view value, int depth, Settings& out);
  void assign(std::string_view name, std::string_view value, int depth);
  bool literal(std::string_view text, std::string& out, int depth) const;

  bool (*wanted_)(std::string_view);
  Settings variables_;                  // unread: it has had two values
  std::vector<std::string> made_here_;  // names of what a wanted call gave
};

bool Reader::literal(std::string_view text, std::string& out, int depth) const {
  if (text.empty() || depth > deepest) return false;
  if (text == "True" || text == "False") {
    out = lower_case(text);
    return true;
  }
  if (text.substr(0, 4) == "not " && literal(trimmed(text.substr(4)), out, depth + 1)) {
    out = out == "true" ? "false" : "true";
    return true;
  }
  if (has_last(text, "is_bf16_supported()") || has_last(text, "is_bfloat16_supported()")) {
    out = "true";
    return after_name(text, 0, true) + 2 == text.size();
  }
  if (text.substr(0, 6) == "torch." && after_name(text, 0, true) == text.size()) {
    const std::string_view name = text.substr(6);
    out = name == "half" ? "float16" : name == "float" ? "float32" : std::string(name);
    return true;
  }
  std::string_view inside;
  if (within(text, '[', ']', inside) || within(text, '(', ')', inside)) {
    std::string list;
    for (const std::string_view item : items(inside)) {
      std::string one;
      if (!literal(item, one, depth + 1)) return false;
      list += (list.empty() ? "" : ", ") + one;
    }
    out = "[" + list + "]";
    return true;
  }
  if (text == "None" || string_literal(text, out) || number_literal(text, out)) {
    if (text == "None") out = "None";
    return true;
  }
  for (const Setting& variable : variables_) {
    if (variable.key == text) out = variable.value;
    if (variable.key == text) return !variable.unread;
  }
  return false;
}

bool Reader::read_dict(const std::string& key, std::string_view value, int depth, Settings& out) {
  std::string_view inside;
  if (depth > deepest) return false;
  if (value.substr(0, 4) == "dict" && within(trimmed(value.substr(4)), '(', ')', inside)) {
    Settings members;
    for (const std::string_view item : items(inside)) read_argument(item, 0, depth + 1, members);
    for (const Setting& member : members) out.push_back({key + "." + member.key, member.value, member.unread});
    return true;
  }
  if (!within(value, '{', '}', inside)) return false;
  for (const std::string_view item : items(inside)) {
    const std::size_t after = quotes(item.front()) ? after_string(item, 0) : 0;
    const std::size_t colon = past_blanks(item, after);
    std::string name;
    const bool named = string_literal(item.substr(0, after), name) && colon < item.size() && item[colon] == ':';
    if (!named) {
      out.push_back({key + "." + std::string(item.substr(0, longest_shown)), "", true});
      continue;
    }
    read_value(key + "." + name, expression(item, colon + 1, false).text, depth + 1, out);
  }
  return true;
}

void Reader::read_value(const std::string& key, std::string_view value, int depth, Settings& out) {
  std::string text;
  if (literal(value, text, depth)) {
    out.push_back({key, text});
    return;
  }
  if (read_dict(key, value, depth, out)) return;
  const std::size_t before = calls.size();
  if (depth < deepest) scan(value, depth + 1);
  const bool known =
      calls.size() > before || std::find(made_here_.begin(), made_here_.end(), value) != made_here_.end();
  if (known) return;
  const bool whole = value.size() <= longest_shown && value.find('\n') == std::string_view::npos;
  out.push_back(
      {key, whole ? std::string(value) : std::string(value.substr(0, after_name(value, 0, true))) + "...", true});
}

void Reader::read_argument(std::string_view argument, int unnamed, int depth, Settings& out) {
  const std::size_t end = after_name(argument, 0, false);
  const std::size_t equals = past_blanks(argument, end);
  const bool named =
      end > 0 && equals < argument.size() && argument[equals] == '=' && argument.substr(equals, 2) != "==";
  if (named) {
    const std::string_view value = expression(argument, equals + 1, false).text;
    read_value(std::string(argument.substr(0, end)), value, depth, out);
  } else if (argument.substr(0, 2) == "**") {
    out.push_back({std::string(argument.substr(0, longest_shown)), "", true});
  } else {
    read_value(std::to_string(unnamed), argument, depth, out);
  }
}

std::size_t Reader::read_call(std::string_view name, std::string_view text, std::size_t at, int depth) {
  PythonCall call{std::string(name), {}};
  int index = 0;
  while (at < text.size()) {
    const Expression argument = expression(text, at, false);
    if (!argument.text.empty()) read_argument(argument.text, index++, depth, call.arguments);
    at = argument.end + 1;
    if (argument.end < text.size() && closes(text[argument.end])) break;
  }
  calls.push_back(std::move(call));
  return std::min(at, text.size());
}

void Reader::assign(std::string_view name, std::string_view value, int depth) {
  std::string text;
  if (!literal(value, text, depth)) {
    const std::size_t before = calls.size();
    scan(value, depth + 1);
    if (calls.size() > before && made_here_.size() < most_variables) made_here_.emplace_back(name);
    return;
  }
  for (Setting& variable : variables_) {
    if (variable.key != name) continue;
    variable.unread = variable.unread || variable.value != text;
    return;
  }
  if (variables_.size() < most_variables) variables_.push_back({std::string(name), text});
}

void Reader::scan(std::string_view text, int depth) {
  std::string_view word;  // the one before
  bool fresh = true;      // nothing but blanks since the line began
  int nested = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#' || quotes(c)) {
      at = c == '#' ? after_line(text, at) : after_string(text, at);
      fresh = false;
    } else if (begins_name(c)) {
      const std::size_t end = after_name(text, at, true);
      const std::string_view name = text.substr(at, end - at);
      std::size_t next = end;
      while (next < text.size() && is_blank(text[next])) ++next;
      const bool sign = next < text.size() && text[next] == '=' && text.substr(next, 2) != "==";
      if (next < text.size() && text[next] == '(' && word != "def" && word != "class" && wanted_(name)) {
        at = read_call(name, text, next + 1, depth);
      } else if (sign && fresh && nested == 0 && depth == 0) {
        const Expression value = expression(text, next + 1, true);
        assign(name, value.text, depth);
        at = value.end;
      } else {
        at = end;
      }
      word = name;
      fresh = false;
    } else {
      nested = std::max(0, nested + (opens(c) ? 1 : closes(c) ? -1 : 0));
      fresh = c == '\n' || (fresh && is_blank(c));
      ++at;
    }
  }
}

}  // namespace

std::vector<PythonCall> read_python_calls(std::string_view text, bool (*wanted)(std::string_view name)) {
  Reader reader(wanted);
  reader.scan(text, 0);
  return std::move(reader.calls);
}

}  // namespace trainmem
