#include "kernels/families/user/fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/families/user/template_text.hpp"

namespace tilesmith {
namespace {

constexpr int kDeepestExpression = 16;
constexpr std::size_t kLongestName = 32;

}  // namespace

bool is_identifier(const std::string& text) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !text.empty() && text.size() <= kLongestName && text.front() >= 'a' && text.front() <= 'z' &&
         std::ranges::all_of(text, fits);
}

std::string Field::shown() const {
  std::string found = json_->dump(-1, ' ', false, Json::error_handler_t::replace);
  return found.size() > 60 ? found.substr(0, 57) + "..." : found;
}

void Field::fail(std::string_view expected) const { refuse(fmt::format("is {}, expected {}", shown(), expected)); }

void Field::refuse(std::string_view what) const {
  throw DefinitionError(fmt::format("{}: {}: {}", *file_, place_.empty() ? "the whole" : place_, what));
}

void Field::allow_only(std::initializer_list<std::string_view> names) const {
  if (!json_->is_object()) fail("an object");
  for (const auto& [name, value] : json_->items()) {
    if (std::ranges::find(names, name) == names.end())
      at(name).refuse(fmt::format("unknown field, expected one of {}", fmt::join(names, ", ")));
  }
}

Field Field::at(const std::string& name) const {
  const std::string place = place_.empty() ? name : place_ + "." + name;
  const auto found = json_->find(name);
  if (found == json_->end()) throw DefinitionError(fmt::format("{}: {}: is missing", *file_, place));
  return {*found, *file_, place};
}

std::vector<Field> Field::elements(std::size_t least, std::size_t most) const {
  if (!json_->is_array() || json_->size() < least || json_->size() > most)
    fail(fmt::format("a list of {} to {} elements", least, most));
  std::vector<Field> found;
  for (std::size_t i = 0; i < json_->size(); ++i)
    found.push_back(Field((*json_)[i], *file_, fmt::format("{}[{}]", place_, i)));
  return found;
}

std::vector<std::pair<std::string, Field>> Field::members(std::size_t most) const {
  if (!json_->is_object() || json_->empty() || json_->size() > most)
    fail(fmt::format("an object of 1 to {} fields", most));
  std::vector<std::pair<std::string, Field>> found;
  for (const auto& [name, value] : json_->items()) found.emplace_back(name, at(name));
  return found;
}

std::string Field::line(std::size_t longest) const {
  const std::string* const text = json_->get_ptr<const std::string*>();
  if (text == nullptr || text->empty() || text->size() > longest ||
      std::ranges::any_of(*text, [](unsigned char c) { return c < ' '; }))
    fail(fmt::format("one line of 1 to {} characters", longest));
  return *text;
}

std::string Field::identifier() const {
  const std::string* const text = json_->get_ptr<const std::string*>();
  if (text == nullptr || !is_identifier(*text)) fail(kIdentifierMeans);
  return *text;
}

std::int64_t Field::integer(std::int64_t least, std::int64_t most) const {
  const bool is_large = json_->is_number_unsigned() && json_->get<std::uint64_t>() > std::uint64_t(INT64_MAX);
  if (!json_->is_number_integer() || is_large || json_->get<std::int64_t>() < least ||
      json_->get<std::int64_t>() > most)
    fail(fmt::format("a whole number from {} to {}", least, most));
  return json_->get<std::int64_t>();
}

double Field::real() const {
  if (!json_->is_number() || !std::isfinite(json_->get<double>())) fail("a finite number");
  return json_->get<double>();
}

bool Field::flag() const {
  if (!json_->is_boolean()) fail("true or false");
  return json_->get<bool>();
}

Expression Field::expression(std::span<const ExpressionName> names) const {
  if (json_->is_number()) return Expression::constant(integer(INT64_MIN, INT64_MAX));
  const std::string* const text = json_->get_ptr<const std::string*>();
  if (text == nullptr) fail("an expression, as text, or a whole number");
  return expression_of(*text, names);
}

Expression Field::expression_of(std::string_view text, std::span<const ExpressionName> names) const {
  try {
    return Expression::parse(text, names);
  } catch (const ExpressionError& error) {
    refuse(error.what());
  }
}

Field::Json parse_definition(const std::string& text, const std::string& file) {
  using Event = Field::Json::parse_event_t;
  std::vector<std::set<std::string>> open;  // the fields of each object that is not yet closed
  const auto check = [&](int depth, Event event, Field::Json& value) {
    if (depth > kDeepestExpression)
      throw DefinitionError(fmt::format("{}: nests deeper than {}", file, kDeepestExpression));
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(value.get<std::string>()).second)
      throw DefinitionError(fmt::format("{}: {}: is given twice", file, value.get<std::string>()));
    return true;
  };
  try {
    return Field::Json::parse(text, check);
  } catch (const Field::Json::exception& error) {
    std::string what = error.what();
    if (const std::size_t end = what.find("] "); end != std::string::npos)
      what.erase(0, end + 2);  // "[json.exception.parse_error.101] "
    std::ranges::replace(what, '\n', ' ');
    throw DefinitionError(fmt::format("{}: {}", file, what));
  }
}

}  // namespace tilesmith
