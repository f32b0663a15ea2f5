#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <span>

#include "tuner/cli/options/option_tables.hpp"
#include "tuner/exit_status.hpp"

namespace tilesmith::tuner {
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

}  // namespace tilesmith::tuner
