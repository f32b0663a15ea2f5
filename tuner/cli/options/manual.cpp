#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "runtime/interface/gemm.hpp"
#include "tuner/cli/options/option_tables.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {
namespace {

constexpr const char* kRepeatable = " .\\|.\\|.";

/// Escapes what means something to roff: backslashes, hyphens, and a control character at the beginning of a line.
std::string roff(const std::string& text) {
  std::string result;
  bool at_line = true;
  for (char c : text) {
    if (at_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '-') result += '\\';
    result += c == '\\' ? std::string("\\e") : std::string(1, c);
    at_line = c == '\n';
  }
  return result;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return text;
}

/// Prose is filled; lines that are indented are kept; "Example:" begins a section.
std::string roff_footer(const std::string& footer) {
  std::string page;
  bool kept = false, in_details = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (kept && !indented) page += ".EE\n";
    if (indented && !kept) page += ".EX\n";
    kept = indented;
    if (line == "Example:" || line == "Examples:") {
      page += ".SH EXAMPLES\n";
      in_details = true;
    } else if (line.empty()) {
      page += ".PP\n";
    } else {
      if (!in_details && !indented) page += ".SH DETAILS\n";
      in_details = true;
      page += roff(indented ? line.substr(2) : line) + "\n";
    }
  }
  return page + (kept ? ".EE\n" : "");
}

std::string synopsis(const CommandTable& command, bool is_program) {
  std::string line = is_program ? ".B tilesmith\n.I COMMAND\n" : fmt::format(".B tilesmith {}\n", roff(command.name));
  line += "[\\fIOPTIONS\\fR]\n";
  for (const OptionTable& option : command.options) {
    if (!option.is_positional) continue;
    const std::string name =
        fmt::format("\\fI{}{}\\fR", roff(option.names.front()), option.is_repeatable ? kRepeatable : "");
    line += (option.is_required ? name : "[" + name + "]") + "\n";
  }
  return line;
}

std::string options_of(const CommandTable& command) {
  std::vector<std::string> groups;
  for (const OptionTable& option : command.options) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string page;
  for (const std::string& group : groups) {
    page += fmt::format(".SH {}\n", upper(roff(group)));
    for (const OptionTable& option : command.options) {
      if (option.group != group) continue;
      std::vector<std::string> names;
      for (const std::string& name : option.names) names.push_back(fmt::format("\\fB{}\\fR", roff(name)));
      const bool has_value = !option.value.empty() && !option.is_positional;
      page += fmt::format(".TP\n{}{}{}\n{}{}\n", fmt::join(names, ", "),
          has_value ? fmt::format(" \\fI{}\\fR", roff(option.value)) : "", option.is_repeatable ? kRepeatable : "",
          roff(option.description), option.is_required ? " Required." : "");
    }
  }
  return page;
}

}  // namespace

std::string manual_page(const std::string& name, const std::vector<CommandTable>& commands) {
  const auto found = std::ranges::find(commands, name, &CommandTable::name);
  if (found == commands.end()) {
    std::vector<std::string> names;
    for (const CommandTable& command : commands) names.push_back(command.name);
    throw UsageError(fmt::format("COMMAND {}: expected one of {}", name, fmt::join(names, ", ")));
  }
  const bool is_program = found == commands.begin();
  const std::string title = is_program ? name : "tilesmith-" + name;
  std::string page =
      fmt::format(".TH {} 1 \"\" \"tilesmith {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}",
          upper(roff(title)), version(), roff(title), roff(found->summary), synopsis(*found, is_program));
  if (is_program) {
    page += ".SH COMMANDS\n";
    for (const CommandTable& command : commands) {
      if (&command == &*found) continue;
      page += fmt::format(".TP\n\\fB{}\\fR(1)\n{}.\n", roff("tilesmith-" + command.name), roff(command.summary));
    }
  }
  page += options_of(*found) + roff_footer(found->footer);
  page +=
      ".SH EXIT STATUS\n0: done. 1: internal error. 2: bad input, or no GPU. 3: done, but for problems that\n"
      ".B tilesmith tune\nset aside. \\fBtilesmith run\\fR and \\fBtilesmith capture\\fR exit as the program that they "
      "start.\n";
  if (!is_program) page += ".SH SEE ALSO\n\\fBtilesmith\\fR(1)\n";
  return page;
}

}  // namespace tilesmith::tuner
