#include "tuner/cli/options/option_tables.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <functional>
#include <ranges>
#include <span>
#include <sstream>

#include "kernels/families/family.hpp"
#include "runtime/interface/gemm.hpp"
#include "tuner/exit_status.hpp"
#include "tuner/logs/words.hpp"
#include "tuner/search/strategy.hpp"
#include "tuner/workload.hpp"

namespace tilesmith::tuner {

namespace {

/// "PAIR,..=f16f32" without its list and its default.
std::string kind_of(const std::string& type_name) { return type_name.substr(0, type_name.find_first_of(",=")); }

/// The values that an option knows by name.
std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const auto has_name = [&](const char* name) { return option.check_lname(name); };
  std::vector<std::string> words;
  const auto add = [&](const auto& items, auto name_of) {
    for (const auto& item : items) words.emplace_back(std::invoke(name_of, item));
  };
  if (const std::size_t set = type.find(":{"); set != std::string::npos) {  // "INT:{12,13}": what CLI11 calls a set
    const std::string members = type.substr(set + 2, type.rfind('}') - set - 2);
    for (const std::string_view word : split_at(members, ',')) words.emplace_back(word);
  }
  if (kind_of(type) == "PAIR") add(type_pairs(), &TypePair::name);
  else if (kind_of(type) == "TRANS") words.insert(words.end(), {"NN", "NT", "TN", "TT"});
  else if (has_name("family")) add(families(), [](const auto& family) { return family->name(); });
  else if (has_name("strategy")) add(strategies(), &StrategyInfo::name);
  else if (has_name("workload")) add(built_in_workloads(), &BuiltInWorkload::name);
  return words;
}

OptionTable table_of(const CLI::Option& option) {
  OptionTable table;
  table.is_positional = option.get_positional();
  table.is_required = option.get_required();
  if (table.is_positional) table.names = {option.get_name(true, false)};
  for (const std::string& name : option.get_snames()) table.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) table.names.push_back("--" + name);
  const std::string type = option.get_type_name(), was = option.get_default_str();
  if (option.get_items_expected_max() > 0)
    table.value = type + (was.empty() || type.find('=') != std::string::npos ? "" : "=" + was);
  table.is_repeatable = option.get_items_expected_max() > 1;
  table.description = option.get_description();
  table.group = option.get_group();
  for (const char* file : {"FILE", "FOLDER", "DIR", "CSV"})
    table.takes_file = table.takes_file || type.starts_with(file);
  table.words = words_of(option);
  return table;
}

CommandTable table_of(const CLI::App& app, const std::string& name) {
  CommandTable table{name, app.get_description(), {}, app.get_footer()};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) table.options.push_back(table_of(*option));
  }
  return table;
}

}  // namespace

std::vector<CommandTable> option_tables(const CLI::App& program) {
  std::vector<CommandTable> tables{table_of(program, program.get_name())};
  for (const CLI::App* command : program.get_subcommands(std::function<bool(const CLI::App*)>()))
    tables.push_back(table_of(*command, command->get_name()));
  return tables;
}

namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// In single quotes, as all three shells take it.
std::string quoted(const std::string& text) { return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "'\\''") + "'"; }

/// What fits behind a name: the first sentence.
std::string brief(const std::string& description) {
  return description.substr(0, std::min({description.find(". "), description.find("; "), description.find('\n')}));
}

constexpr auto kNamed = std::views::filter([](const OptionTable& option) { return !option.is_positional; });

/// All but the program itself.
std::span<const CommandTable> subcommands(const std::vector<CommandTable>& commands) {
  return std::span(commands).subspan(1);
}

std::string option_names(const CommandTable& command) {
  std::vector<std::string> names;
  for (const OptionTable& option : command.options | kNamed)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return fmt::format("{}", fmt::join(names, " "));
}

std::string bash(const std::vector<CommandTable>& commands) {
  std::string script = R"(# bash completion for tilesmith
_tilesmith() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command='' words='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] && return
    if [[ -z $command && ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; fi
  done
  if [[ $current == = ]]; then current=''; elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi
  case "$command $previous" in
)";
  for (const CommandTable& command : subcommands(commands)) {
    for (const OptionTable& option : command.options | kNamed) {
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(fmt::format("'{} {}'", command.name, name));
      const std::string then = !option.words.empty() ? fmt::format("words='{}'", fmt::join(option.words, " "))
                               : option.takes_file   ? "return"
                                                     : "compopt +o default 2>/dev/null || :; return";
      script += fmt::format("    {}) {} ;;\n", fmt::join(patterns, " | "), then);
    }
  }
  script += R"(  esac
  if [[ -n $words ]]; then
    local head=${current%"${current##*,}"}
    mapfile -t COMPREPLY < <(compgen -P "$head" -W "$words" -- "${current##*,}")
    return
  fi
  case $command in
)";
  std::vector<std::string> names;
  std::string cases;
  for (const CommandTable& command : subcommands(commands)) {
    names.push_back(command.name);
    cases += fmt::format("    {}) words='{}' ;;\n", command.name, option_names(command));
  }
  script += fmt::format("    '') words='{} {}' ;;\n{}", fmt::join(names, " "), option_names(commands.front()), cases);
  script += R"(  esac
  [[ -n $command && $current != -* ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o bashdefault -o default -F _tilesmith tilesmith
)";
  return script;
}

/// One argument of zsh's _arguments.
std::string zsh_option(const OptionTable& option) {
  const auto escaped = [](std::string text) {
    for (const char* special : {"[", "]", ":"}) text = replaced(text, special, std::string("\\") + special);
    return text;
  };
  const std::string words = fmt::format("({})", fmt::join(option.words, " "));
  const std::string action = option.words.empty() ? option.takes_file ? "_files" : " "
                             : option.takes_file
                                 ? fmt::format(R"({{_alternative "names:name:{}" "files:file:_files"}})", words)
                                 : words;
  std::string lines;
  for (const std::string& name : option.names) {
    std::string one =
        fmt::format("{}{}[{}]", option.is_repeatable ? "*" : "", name, escaped(brief(option.description)));
    if (!option.value.empty()) one += fmt::format(":{}:{}", escaped(option.value), action);
    lines += fmt::format(" \\\n          '{}'", replaced(one, "'", "'\\''"));
  }
  return lines;
}

std::string zsh(const std::vector<CommandTable>& commands) {
  const auto options_of = [](const CommandTable& command) {
    std::string lines;
    for (const OptionTable& option : command.options | kNamed) lines += zsh_option(option);
    return lines;
  };
  std::string names, cases;
  for (const CommandTable& command : subcommands(commands)) {
    names += fmt::format("    {}\n", quoted(command.name + ":" + replaced(brief(command.summary), ":", "\\:")));
    cases += fmt::format("        {})\n          _arguments{} \\\n          '*: :_files'\n          ;;\n", command.name,
        options_of(command));
  }
  return fmt::format(R"(#compdef tilesmith
_tilesmith() {{
  local state
  local -a commands=(
{}  )
  _arguments -C{} \
          '1:command:->command' \
          '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
{}      esac
      ;;
  esac
}}
_tilesmith "$@"
)",
      names, options_of(commands.front()), cases);
}

std::string fish(const std::vector<CommandTable>& commands) {
  std::string script = "# fish completion for tilesmith\n";
  const auto lines = [](const std::string& condition, const CommandTable& command) {
    std::string all;
    for (const OptionTable& option : command.options | kNamed) {
      std::string line = fmt::format("complete -c tilesmith -n {}", quoted(condition));
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.words.empty())
        line +=
            (option.takes_file ? " -r -F -a " : " -x -a ") + quoted(fmt::format("{}", fmt::join(option.words, " ")));
      else if (!option.value.empty()) line += option.takes_file ? " -r -F" : " -x";
      all += line + " -d " + quoted(brief(option.description)) + "\n";
    }
    return all;
  };
  script += lines("__fish_use_subcommand", commands.front());
  for (const CommandTable& command : subcommands(commands))
    script += fmt::format("complete -c tilesmith -f -n __fish_use_subcommand -a {} -d {}\n", command.name,
        quoted(brief(command.summary)));
  for (const CommandTable& command : subcommands(commands))
    script += lines("__fish_seen_subcommand_from " + command.name, command);
  return script;
}

}  // namespace

std::string completion(std::string_view shell, const std::vector<CommandTable>& commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw UsageError(fmt::format("SHELL {}: expected bash, zsh or fish", shell));
}

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
